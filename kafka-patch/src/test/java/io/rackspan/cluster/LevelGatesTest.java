// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.common.utils.LogCaptureAppender;

import io.rackspan.metadata.StaticSettingsWarning;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

/** The leader goes by the level of rackspan.version and by min.insync.racks in the metadata log. Brokers 1 and 2 in rack a, 3 in rack b. */
final class LevelGatesTest extends LeaderTest {

    private static final String RACKS = "min.insync.racks";
    private static final String STATIC_RACKS = "2";

    LevelGatesTest() {
        super(Map.of(RACKS, STATIC_RACKS), "a", "a", "b");
    }

    private void clusterDefault(String value) {
        broker.publish(LeaderFixture.config(ConfigResource.Type.BROKER, "", RACKS, value));
    }

    private Errors produce(int acks) {
        CompletableFuture<PartitionResponse> answer = broker.produce(acks);
        broker.everyoneFetches();
        return LeaderFixture.now(answer).error;
    }

    @Test
    void theGatesObeyTheLevel() {
        broker.lead(List.of(1, 2, 3), Map.of(RACKS, "2"));
        broker.controllerChangesIsr(List.of(1, 2));
        assertEquals(Errors.NOT_ENOUGH_RACKS, produce(-1));
        assertEquals(Errors.NONE, produce(1));
        assertEquals(0, broker.highWatermark());
        broker.publish(LeaderFixture.level(0));
        assertEquals(1, broker.highWatermark(), "moves when the level is lowered, without any fetch");
        assertEquals(Errors.NONE, produce(-1));
        assertFalse(broker.partition().rackGates().isUnder());
        broker.publish(LeaderFixture.level(1));
        assertEquals(Errors.NOT_ENOUGH_RACKS, produce(-1));
    }

    @Test
    void aStaticValueIsNotInForce() {
        broker.lead(List.of(1, 2), Map.of());
        assertEquals(Errors.NONE, produce(-1));
        clusterDefault("2");
        assertEquals(Errors.INCONSISTENT_REPLICA_CONFIGURATION, produce(-1));
        clusterDefault("1");
        assertEquals(Errors.NONE, produce(-1));
        broker.topicConfig(RACKS, "2");
        assertEquals(Errors.INCONSISTENT_REPLICA_CONFIGURATION, produce(-1));
    }

    @Test
    void aWarningNamesTheStaticValueWhereItDiffers() {
        try (LogCaptureAppender log = LogCaptureAppender.createAndRegister(StaticSettingsWarning.class)) {
            clusterDefault("2");
            clusterDefault("3");
            clusterDefault("3");
            assertEquals(List.of("min.insync.racks=2 in server.properties is ignored: the cluster default in force is 3. Set that with kafka-configs.sh " +
                "--bootstrap-server HOST:PORT --entity-type brokers --entity-default --alter --add-config min.insync.racks=2, or remove the line."), log.getMessages());
            broker.publish(LeaderFixture.level(0));
            assertEquals("min.insync.racks=2 in server.properties is not in force: rackspan.version is at level 0. Raise it with kafka-features.sh " +
                "--bootstrap-server HOST:PORT upgrade --feature rackspan.version=2.", log.getMessages().get(1));
        }
    }

    @Test
    void minInSyncReplicasAboveTheReplicasIsClampedAtLevel0() {
        broker.lead(List.of(1, 2), Map.of("min.insync.replicas", "3"));
        assertEquals(Errors.INCONSISTENT_REPLICA_CONFIGURATION, produce(-1));
        broker.publish(LeaderFixture.level(0));
        assertEquals(Errors.NONE, produce(-1));
        broker.topicConfig("min.insync.replicas.inconsistent.action", "reject");
        assertEquals(Errors.NONE, produce(-1), "taken into account from level 1 on");
    }

    @Test
    void acksMinInSyncReplicasIsRefusedAtLevel0() {
        broker.lead(List.of(1, 2), Map.of("acks.all.scope", "min.insync.replicas"));
        assertEquals(Errors.NONE, produce(-2));
        broker.publish(LeaderFixture.level(0));
        PartitionResponse refused = LeaderFixture.now(broker.produce(-2));
        assertEquals(Errors.INVALID_REQUIRED_ACKS, refused.error);
        assertEquals("acks=min.insync.replicas (-2) needs rackspan.version 1, and the cluster is at level 0. Raise it with kafka-features.sh " +
            "--bootstrap-server HOST:PORT upgrade --feature rackspan.version=2.", refused.errorMessage);
        assertFalse(broker.produce(-1).isDone(), "acks=all waits for the full ISR, whatever the topic says");
    }
}
