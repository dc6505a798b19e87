// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import kafka.cluster.Partition;

import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.storage.internals.log.AppendOrigin;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import static io.rackspan.cluster.LeaderFixture.now;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

/** Where fewer racks suffice than min.insync.racks says: replicas 1 and 2 in rack a, 3 in rack b, 4 in rack c. */
final class EffectiveRacksTest extends LeaderTest {

    private static final List<Integer> ONE_RACK = List.of(1, 2);
    private static final Map<String, String> TWO_RACKS = Map.of("min.insync.racks", "2");

    EffectiveRacksTest() {
        super("a", "a", "b", "c");
    }

    private CompletableFuture<PartitionResponse> marker() {
        return broker.produce(-1, AppendOrigin.COORDINATOR, 600_000);
    }

    /** A marker that can never be written would leave its transaction open for ever. */
    @Test
    void aMarkerIsWrittenWhereTheAssignmentHasTooFewRacks() {
        broker.lead(ONE_RACK, TWO_RACKS);
        assertEquals(Errors.INCONSISTENT_REPLICA_CONFIGURATION, now(broker.produce(-1)).error, "a client's write is refused");
        CompletableFuture<PartitionResponse> marker = marker();
        assertFalse(marker.isDone());
        broker.everyoneFetches();
        assertEquals(Errors.NONE, now(marker).error);
    }

    @Test
    void aMarkerIsWrittenAfterTheValueWasRaisedOutOfReach() {
        broker.lead(List.of(1, 2, 3), TWO_RACKS);
        CompletableFuture<PartitionResponse> marker = marker();
        broker.topicConfig("min.insync.racks", "3");
        assertFalse(marker.isDone(), "both racks of the assignment are in sync");
        broker.everyoneFetches();
        assertEquals(Errors.NONE, now(marker).error);
    }

    @Test
    void aMarkerWaitsForTheRacksThatTheAssignmentHas() {
        broker.lead(List.of(1, 2, 3), Map.of("min.insync.racks", "3"));
        CompletableFuture<PartitionResponse> waiting = marker();
        broker.controllerChangesIsr(ONE_RACK);
        assertEquals(Errors.NOT_ENOUGH_RACKS_AFTER_APPEND, now(waiting).error);
        assertEquals(Errors.NOT_ENOUGH_RACKS, now(marker()).error);
    }

    @ParameterizedTest
    @ValueSource(strings = {"__remote_log_metadata", "__consumer_offsets", "__transaction_state", "__share_group_state"})
    void internalTopicsAreWrittenByClientsToo(String topic) {
        broker.publish(LeaderFixture.config(ConfigResource.Type.BROKER, "", "min.insync.racks", "2"));
        Partition partition = broker.addTopic(topic, ONE_RACK);
        for (int acks : new int[] {-1, -2}) {
            TopicPartition tp = partition.topicPartition();
            CompletableFuture<Map<TopicPartition, PartitionResponse>> answer = broker.produceTo(acks, AppendOrigin.CLIENT, 600_000, tp);
            broker.fetch(partition, 2, partition.localLogOrException().logEndOffset());
            assertEquals(Errors.NONE, now(answer).get(tp).error, "acks " + acks);
        }
    }

    @Test
    void internalTopicsWaitForTheFullIsrWhateverTheScope() {
        broker.publish(LeaderFixture.config(ConfigResource.Type.BROKER, "", "acks.all.scope", "min.insync.replicas"));
        Partition partition = broker.addTopic("__remote_log_metadata", ONE_RACK);
        TopicPartition tp = partition.topicPartition();
        CompletableFuture<Map<TopicPartition, PartitionResponse>> answer = broker.produceTo(-1, AppendOrigin.CLIENT, 600_000, tp);
        assertFalse(answer.isDone());
        broker.fetch(partition, 2, 1);
        assertEquals(Errors.NONE, now(answer).get(tp).error);
    }

    private void reassigning(List<Integer> replicas, List<Integer> adding) {
        broker.publish(new PartitionChangeRecord().setTopicId(broker.partition().topicId().get()).setPartitionId(0)
            .setReplicas(replicas).setAddingReplicas(adding).setDirectories(Collections.nCopies(replicas.size(), DirectoryId.UNASSIGNED)));
    }

    /** A repair of placement takes as long as its copy: consumers and coordinators must not wait for that. */
    @Test
    void racksThatAReassignmentAddsCountWhenItEnds() {
        broker.lead(ONE_RACK, TWO_RACKS);
        reassigning(List.of(1, 2, 3), List.of(3));
        broker.produce(1);
        broker.everyoneFetches();
        assertEquals(1, broker.highWatermark(), "readers wait for the copy");
        CompletableFuture<PartitionResponse> marker = marker();
        broker.everyoneFetches();
        assertEquals(Errors.NONE, now(marker).error);
        assertEquals(Errors.NOT_ENOUGH_RACKS, now(broker.produce(-1)).error, "what clients were promised is checked by all racks");
        broker.publish(new PartitionChangeRecord().setTopicId(broker.partition().topicId().get()).setPartitionId(0)
            .setIsr(List.of(1, 2, 3)).setAddingReplicas(List.of()));
        broker.controllerChangesIsr(ONE_RACK);
        broker.produce(1);
        broker.everyoneFetches();
        assertEquals(2, broker.highWatermark(), "it ended");
    }

    @Test
    void racksOfTheOldReplicasStillCountDuringAReassignment() {
        broker.lead(List.of(1, 3), TWO_RACKS);
        reassigning(List.of(1, 3, 2), List.of(2));
        broker.controllerChangesIsr(List.of(1));
        broker.produce(1);
        assertEquals(0, broker.highWatermark());
    }
}
