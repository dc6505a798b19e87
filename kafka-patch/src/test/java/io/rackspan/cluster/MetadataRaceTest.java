// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import kafka.cluster.Partition;

import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.UnregisterBrokerRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import static io.rackspan.cluster.LeaderFixture.now;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

/** Requests that come in the middle of a metadata update: replicas 1 and 2 in rack a, 3 in rack b. */
final class MetadataRaceTest extends LeaderTest {

    MetadataRaceTest() {
        super("a", "a", "b");
    }

    private PartitionChangeRecord isr(Integer... isr) {
        return new PartitionChangeRecord().setTopicId(broker.partition().topicId().get()).setPartitionId(0).setIsr(List.of(isr));
    }

    /** Broker 2 comes back in rack b after a power cut: what it reported before counts for nothing. */
    @ParameterizedTest
    @ValueSource(ints = {-1, -2})
    void aNewRackDoesNotCountBeforeItsBrokerLeftTheIsr(int acks) {
        broker.lead(List.of(1, 2, 3), Map.of("min.insync.racks", "2"));
        CompletableFuture<PartitionResponse> write = broker.produce(acks);
        broker.fetch(2, 1);
        broker.publish(isr(1, 2));
        assertEquals(Errors.NOT_ENOUGH_RACKS_AFTER_APPEND, now(write).error);
        broker.produce(1);
        broker.fetch(2, 2);
        assertEquals(0, broker.highWatermark());
        Runnable rest = broker.publishing(isr(1), LeaderFixture.broker(2, "b", 2));
        broker.produce(1);
        assertEquals(0, broker.highWatermark(), "replica 2 is in the ISR of old, and in rack b of late");
        assertEquals(Errors.NOT_ENOUGH_RACKS, now(broker.produce(acks)).error);
        rest.run();
        assertEquals(0, broker.highWatermark());
        broker.publish(isr(1, 2));
        assertEquals(2, broker.highWatermark(), "rack b counts from then on");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aRackThatIsLeftIsMissedUntilTheIsrIsKnown(boolean unregistered) {
        Partition partition = broker.lead(List.of(1, 3), Map.of("min.insync.racks", "2"));
        broker.publish(isr(1));
        broker.produce(1);
        assertEquals(0, broker.highWatermark());
        Runnable rest = broker.publishing(unregistered ? new UnregisterBrokerRecord().setBrokerId(3).setBrokerEpoch(1) : LeaderFixture.broker(3, "a", 2));
        partition.maybeReevaluateRackSpan();
        broker.produce(1);
        assertEquals(0, broker.highWatermark());
        rest.run();
        assertEquals(2, broker.highWatermark(), "no other rack is left that could be waited for");
    }

    /** Broker 2 led in epoch 2, unnoticed here, and had broker 3 truncate. */
    @Test
    void aReelectedLeaderForgetsWhatFollowersHadBefore() {
        broker.lead(List.of(1, 2, 3), Map.of());
        CompletableFuture<PartitionResponse> write = broker.produce(-1);
        broker.fetch(2, 1);
        broker.publish(broker.electing(2), broker.electing(1));
        assertFalse(write.isDone());
        broker.fetch(3, 1);
        assertEquals(0, broker.highWatermark(), "replica 2 has reported nothing in this epoch");
        assertFalse(write.isDone());
        broker.fetch(2, 1);
        assertEquals(1, broker.highWatermark());
    }

    /** Leader epochs without a gap: nobody else led, so that nothing was truncated. */
    @Test
    void aNewEpochOfTheSameLeaderKeepsWhatFollowersHave() {
        broker.lead(List.of(1, 2, 3), Map.of());
        broker.produce(1);
        broker.fetch(2, 1);
        broker.publish(broker.electing(1));
        broker.fetch(3, 1);
        assertEquals(1, broker.highWatermark());
    }
}
