// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import kafka.cluster.Partition;

import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import static io.rackspan.cluster.LeaderFixture.now;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** The three gates on a real partition with a real log: replicas 1 and 2 in rack a, 3 in rack b, 4 in rack c. */
final class RackGatesTest extends LeaderTest {

    private static final List<Integer> ALL = List.of(1, 2, 3);
    private static final Map<String, String> TWO_RACKS = Map.of("min.insync.racks", "2");

    RackGatesTest() {
        super("a", "a", "b", "c");
    }

    @Test
    void aSpanningIsrAcknowledges() {
        broker.lead(ALL, TWO_RACKS);
        CompletableFuture<PartitionResponse> answer = broker.produce(-1);
        assertFalse(answer.isDone());
        broker.everyoneFetches();
        assertEquals(Errors.NONE, now(answer).error);
        assertEquals(1, broker.highWatermark());
    }

    @Test
    void appendGateRefusesAndAppendsNothing() {
        broker.lead(ALL, TWO_RACKS);
        broker.controllerChangesIsr(List.of(1, 2));
        PartitionResponse answer = now(broker.produce(-1));
        assertEquals(Errors.NOT_ENOUGH_RACKS, answer.error);
        assertEquals("Partition orders-0 has in-sync replicas [1, 2] in 1 rack(s) [a], but min.insync.racks is 2. " +
            "No replica is in sync in rack(s) [b].", sorted(answer.errorMessage));
        assertEquals(0, broker.logEnd());
    }

    /** The order of ids in a set is not fixed. */
    private static String sorted(String message) {
        return message.replace("[2, 1]", "[1, 2]");
    }

    @Test
    void acksOneIsNotRefusedByTheAppendGate() {
        broker.lead(ALL, TWO_RACKS);
        broker.controllerChangesIsr(List.of(1, 2));
        assertEquals(Errors.NONE, now(broker.produce(1)).error);
        assertEquals(Errors.NONE, now(broker.produce(0)).error);
        assertEquals(2, broker.logEnd());
    }

    @Test
    void tooFewReplicasIsReportedBeforeTooFewRacks() {
        broker.lead(ALL, Map.of("min.insync.racks", "2", "min.insync.replicas", "2"));
        broker.controllerChangesIsr(List.of(1));
        assertEquals(Errors.NOT_ENOUGH_REPLICAS, now(broker.produce(-1)).error);
        broker.controllerChangesIsr(List.of(1, 2));
        assertEquals(Errors.NOT_ENOUGH_RACKS, now(broker.produce(-1)).error);
        broker.controllerChangesIsr(List.of(1, 3));
        assertFalse(broker.produce(-1).isDone());
    }

    @Test
    void enoughRacksDoNotMakeUpForTooFewReplicas() {
        broker.lead(ALL, Map.of("min.insync.racks", "2", "min.insync.replicas", "3"));
        broker.controllerChangesIsr(List.of(1, 3));
        assertEquals(Errors.NOT_ENOUGH_REPLICAS, now(broker.produce(-1)).error);
    }

    @Test
    void theDefaultRequiresNoRacks() {
        broker.lead(ALL, Map.of());
        broker.controllerChangesIsr(List.of(1));
        assertEquals(Errors.NONE, now(broker.produce(-1)).error);
        assertEquals(1, broker.highWatermark());
    }

    @Test
    void highWatermarkDoesNotAdvanceWhileRacksAreMissing() {
        Partition partition = broker.lead(ALL, TWO_RACKS);
        broker.controllerChangesIsr(List.of(1, 2));
        broker.produce(1);
        broker.everyoneFetches();
        assertEquals(0, broker.highWatermark());
        broker.fetch(3, broker.logEnd());
        broker.alterPartition.completeIsrUpdate(10);
        assertEquals(3, partition.partitionState().isr().size());
        assertEquals(1, broker.highWatermark());
    }

    @Test
    void highWatermarkDoesNotWaitForRacksThatTheAssignmentLacks() {
        broker.lead(List.of(1, 2), TWO_RACKS);
        assertEquals(Errors.NONE, now(broker.produce(1)).error);
        broker.everyoneFetches();
        assertEquals(1, broker.highWatermark());
        PartitionResponse refused = now(broker.produce(-1));
        assertEquals(Errors.INCONSISTENT_REPLICA_CONFIGURATION, refused.error);
    }

    @Test
    void highWatermarkWaitsForAsManyRacksAsTheAssignmentHas() {
        broker.lead(ALL, Map.of("min.insync.racks", "3"));
        broker.produce(1);
        broker.everyoneFetches();
        assertEquals(1, broker.highWatermark(), "both racks of the assignment are in sync");
        broker.controllerChangesIsr(List.of(1, 2));
        broker.produce(1);
        broker.everyoneFetches();
        assertEquals(1, broker.highWatermark(), "one of the two racks is not in sync");
    }

    @Test
    void waitingWriteEndsWhenTheControllerTakesARackOutOfTheIsr() {
        broker.lead(ALL, TWO_RACKS);
        CompletableFuture<PartitionResponse> answer = broker.produce(-1);
        broker.controllerChangesIsr(List.of(1, 2));
        assertEquals(Errors.NOT_ENOUGH_RACKS_AFTER_APPEND, now(answer).error);
        assertTrue(answer.join().errorMessage.contains("No replica is in sync in rack(s) [b]."), answer.join().errorMessage);
        assertEquals(1, broker.logEnd());
        assertEquals(0, broker.highWatermark());
    }

    @Test
    void waitingWriteEndsWhenTheLeaderTakesARackOutOfTheIsr() {
        broker.lead(ALL, TWO_RACKS);
        CompletableFuture<PartitionResponse> answer = broker.produce(-1);
        broker.leaderShrinksIsr();
        assertEquals(Errors.NOT_ENOUGH_RACKS_AFTER_APPEND, now(answer).error);
    }

    @Test
    void waitingWriteContinuesWhenTheIsrShrinksButStillSpans() {
        broker.lead(ALL, TWO_RACKS);
        CompletableFuture<PartitionResponse> answer = broker.produce(-1);
        broker.controllerChangesIsr(List.of(1, 3));
        assertFalse(answer.isDone());
        broker.fetch(3, 1);
        assertEquals(Errors.NONE, now(answer).error);
    }

    @Test
    void loweringTheTopicValueFreesTheHighWatermarkAndWaitingWrites() {
        broker.lead(ALL, TWO_RACKS);
        broker.controllerChangesIsr(List.of(1, 2));
        broker.produce(1);
        broker.everyoneFetches();
        assertEquals(0, broker.highWatermark());
        assertEquals(Errors.NOT_ENOUGH_RACKS, now(broker.produce(-1)).error);
        broker.topicConfig("min.insync.racks", "1");
        assertEquals(1, broker.highWatermark(), "no write and no fetch came after the change");
        CompletableFuture<PartitionResponse> answer = broker.produce(-1);
        broker.everyoneFetches();
        assertEquals(Errors.NONE, now(answer).error);
    }

    /** At level 0 it waits until a follower advances, as on stock. */
    @Test
    void loweringTheNumberOfReplicasFreesTheHighWatermark() {
        for (int level = 0; level <= 1; level++) {
            broker.publish(LeaderFixture.level(level));
            if (level == 0)
                broker.lead(ALL, Map.of("min.insync.replicas", "3"));
            broker.topicConfig("min.insync.replicas", "3");
            broker.controllerChangesIsr(List.of(1, 2));
            long before = broker.highWatermark();
            broker.produce(1);
            broker.everyoneFetches();
            assertEquals(before, broker.highWatermark());
            broker.topicConfig("min.insync.replicas", "2");
            assertEquals(before + level, broker.highWatermark(), "at level " + level + ", without a fetch");
            broker.produce(1);
            broker.everyoneFetches();
            assertEquals(before + 2, broker.highWatermark());
        }
    }

    @Test
    void loweringTheClusterDefaultFreesTheHighWatermark() {
        broker.publish(LeaderFixture.config(ConfigResource.Type.BROKER, "", "min.insync.racks", "2"));
        broker.lead(ALL, Map.of());
        broker.controllerChangesIsr(List.of(1, 2));
        assertEquals(Errors.NOT_ENOUGH_RACKS, now(broker.produce(-1)).error);
        broker.produce(1);
        broker.everyoneFetches();
        assertEquals(0, broker.highWatermark());
        broker.publish(LeaderFixture.config(ConfigResource.Type.BROKER, "", "min.insync.racks", null));
        assertEquals(1, broker.highWatermark());
    }

    @Test
    void aBrokerThatMovesIntoTheRackOfTheOthersEndsWaitingWrites() {
        broker.lead(ALL, TWO_RACKS);
        CompletableFuture<PartitionResponse> answer = broker.produce(-1);
        broker.publish(LeaderFixture.broker(3, "a", 1));
        assertEquals(Errors.NOT_ENOUGH_RACKS_AFTER_APPEND, now(answer).error);
    }

    @Test
    void aBrokerThatMovesToAnotherRackFreesTheHighWatermark() {
        broker.lead(ALL, TWO_RACKS);
        broker.controllerChangesIsr(List.of(1, 2));
        broker.produce(1);
        broker.everyoneFetches();
        assertEquals(0, broker.highWatermark());
        broker.publish(LeaderFixture.broker(2, "c", 1));
        assertEquals(1, broker.highWatermark());
        assertFalse(broker.produce(-1).isDone(), "the append gate counts the new rack too");
    }

    @Test
    void raisingTheValueEndsWaitingWritesThatCannotMeetIt() {
        broker.lead(ALL, TWO_RACKS);
        CompletableFuture<PartitionResponse> answer = broker.produce(-1);
        broker.topicConfig("min.insync.racks", "3");
        assertEquals(Errors.NOT_ENOUGH_RACKS_AFTER_APPEND, now(answer).error);
    }

    @Test
    void brokersWithoutARackShareOne() {
        broker.publish(LeaderFixture.broker(2, null, 1), LeaderFixture.broker(3, null, 1));
        broker.lead(ALL, TWO_RACKS);
        broker.controllerChangesIsr(List.of(1, 2));
        assertFalse(broker.produce(-1).isDone());
        broker.topicConfig("min.insync.racks", "3");
        PartitionResponse refused = now(broker.produce(-1));
        assertTrue(refused.errorMessage.contains("2 rack(s) [(no broker.rack), a]"), refused.errorMessage);
    }

    @Test
    void reassignmentToMoreRacksEndsTheRefusal() {
        broker.lead(List.of(1, 2), TWO_RACKS);
        assertEquals(Errors.INCONSISTENT_REPLICA_CONFIGURATION, now(broker.produce(-1)).error);
        broker.publish(new org.apache.kafka.common.metadata.PartitionChangeRecord().setTopicId(broker.partition().topicId().get())
            .setPartitionId(0).setReplicas(List.of(1, 3)).setIsr(List.of(1, 3))
            .setDirectories(List.of(org.apache.kafka.common.DirectoryId.UNASSIGNED, org.apache.kafka.common.DirectoryId.UNASSIGNED)));
        assertFalse(broker.produce(-1).isDone());
    }
}
