// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import kafka.cluster.Partition;
import kafka.server.KafkaConfig;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogConfig;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import static io.rackspan.cluster.LeaderFixture.now;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** acks.all.scope: topics whose acks=all waits for min.insync.replicas only. Replicas 1, 2, 3, two of them required. */
final class AcksAllScopeTest {

    private static final String NAME = "acks.all.scope";
    private static final List<Integer> ALL = List.of(1, 2, 3);

    private static LeaderFixture broker(Map<String, String> settings) throws Exception {
        LeaderFixture broker = new LeaderFixture(settings);
        broker.brokers("a", "b", "c");
        broker.publish(LeaderFixture.config(ConfigResource.Type.BROKER, "", "min.insync.replicas", "2"));
        return broker;
    }

    /** Returns whether one follower is enough for a new write. Afterwards all have it. */
    private static boolean oneFollowerIsEnough(LeaderFixture broker, Partition partition, AppendOrigin origin) {
        TopicPartition tp = partition.topicPartition();
        CompletableFuture<Map<TopicPartition, PartitionResponse>> answer = broker.produceTo(-1, origin, 600_000, tp);
        assertFalse(answer.isDone(), "the leader alone is not enough in any case");
        long end = partition.localLogOrException().logEndOffset();
        broker.fetch(partition, 2, end);
        boolean enough = answer.isDone();
        broker.fetch(partition, 3, end);
        assertEquals(Errors.NONE, now(answer).get(tp).error);
        assertEquals(0, partition.ackQuorum().waiting());
        return enough;
    }

    @Test
    void appliesToClientsOfTheTopicOnly() throws Exception {
        try (LeaderFixture broker = broker(Map.of())) {
            Partition partition = broker.lead(ALL, Map.of(NAME, "min.insync.replicas"));
            Partition other = broker.addTopic("other", ALL);
            assertTrue(oneFollowerIsEnough(broker, partition, AppendOrigin.CLIENT));
            assertFalse(oneFollowerIsEnough(broker, partition, AppendOrigin.COORDINATOR), "markers wait for all");
            assertFalse(oneFollowerIsEnough(broker, other, AppendOrigin.CLIENT));
        }
    }

    @Test
    void changesAreInForceForTheNextRequest() throws Exception {
        try (LeaderFixture broker = broker(Map.of())) {
            Partition partition = broker.lead(ALL, Map.of());
            assertFalse(oneFollowerIsEnough(broker, partition, AppendOrigin.CLIENT));
            broker.topicConfig(NAME, "min.insync.replicas");
            assertTrue(oneFollowerIsEnough(broker, partition, AppendOrigin.CLIENT));
            broker.topicConfig(NAME, "isr");
            assertFalse(oneFollowerIsEnough(broker, partition, AppendOrigin.CLIENT));
        }
    }

    @Test
    void theClusterDefaultReachesAllTopicsButInternalOnes() throws Exception {
        try (LeaderFixture broker = broker(Map.of())) {
            Partition partition = broker.lead(ALL, Map.of());
            Partition internal = broker.addTopic("__consumer_offsets", ALL);
            broker.publish(LeaderFixture.config(ConfigResource.Type.BROKER, "", NAME, "min.insync.replicas"));
            assertTrue(oneFollowerIsEnough(broker, partition, AppendOrigin.CLIENT));
            assertFalse(oneFollowerIsEnough(broker, internal, AppendOrigin.CLIENT));
            broker.publish(LeaderFixture.config(ConfigResource.Type.BROKER, "", NAME, " min.insync.replicas"));
            assertTrue(oneFollowerIsEnough(broker, partition, AppendOrigin.CLIENT), "validation takes a value with blanks around it");
            broker.topicConfig(NAME, "isr");
            assertFalse(oneFollowerIsEnough(broker, partition, AppendOrigin.CLIENT), "the topic has a value of its own");
        }
    }

    @Test
    void theBrokersOwnSettingIsNotInForce() throws Exception {
        try (LeaderFixture broker = broker(Map.of(NAME, "min.insync.replicas"))) {
            assertFalse(oneFollowerIsEnough(broker, broker.lead(ALL, Map.of()), AppendOrigin.CLIENT));
        }
    }

    @Test
    void oneRequestMayWaitForTheOneHereAndForAllThere() throws Exception {
        try (LeaderFixture broker = broker(Map.of())) {
            Partition partition = broker.lead(ALL, Map.of(NAME, "min.insync.replicas"));
            Partition other = broker.addTopic("other", ALL);
            CompletableFuture<Map<TopicPartition, PartitionResponse>> answer = broker.produceTo(-1, AppendOrigin.CLIENT, 600_000,
                partition.topicPartition(), other.topicPartition());
            broker.fetch(partition, 2, 1);
            broker.fetch(other, 2, 1);
            assertFalse(answer.isDone());
            broker.fetch(other, 3, 1);
            assertTrue(answer.isDone());
            assertEquals(0, partition.localLogOrException().highWatermark());
            assertEquals(1, other.localLogOrException().highWatermark());
        }
    }

    @Test
    void theDefaultIsTheIsrAndOtherValuesAreRefused() {
        assertFalse(new LogConfig(Map.of()).acksAllNeedsMinInSyncReplicasOnly);
        assertTrue(new LogConfig(Map.of(NAME, "min.insync.replicas")).acksAllNeedsMinInSyncReplicasOnly);
        ConfigException refusal = assertThrows(ConfigException.class, () -> LogConfig.validate(Map.of(NAME, "majority")));
        assertEquals("Invalid value majority for configuration acks.all.scope: String must be one of: isr, min.insync.replicas", refusal.getMessage());
        assertEquals(NAME, ServerTopicConfigSynonyms.serverSynonym(NAME));
        assertThrows(ConfigException.class, () -> new KafkaConfig(Map.of("process.roles", "broker", "node.id", "1",
            "controller.listener.names", "CONTROLLER", "controller.quorum.voters", "100@127.0.0.1:9093", NAME, "majority")));
    }
}
