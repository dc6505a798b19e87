// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import kafka.cluster.Partition;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.storage.internals.log.AppendOrigin;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import static io.rackspan.cluster.LeaderFixture.now;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Answers to acks=min.insync.replicas on a real partition with a real log: replicas 1 and 2 in rack a, 3 and 4 in rack b. */
final class QuorumAcksTest extends LeaderTest {

    private static final List<Integer> ALL = List.of(1, 2, 3, 4);
    private static final Map<String, String> TWO_IN_TWO = Map.of("min.insync.replicas", "2", "min.insync.racks", "2");

    QuorumAcksTest() {
        super("a", "a", "b", "b");
    }

    @Test
    void answeredByTheFirstFollowerInAnotherRack() {
        Partition partition = broker.lead(ALL, TWO_IN_TWO);
        CompletableFuture<PartitionResponse> answer = broker.produce(-2);
        broker.fetch(2, 1);
        assertFalse(answer.isDone(), "both holders are in rack a");
        assertEquals(1, partition.ackQuorum().waiting());
        broker.fetch(3, 1);
        assertEquals(Errors.NONE, now(answer).error);
        assertEquals(0, now(answer).baseOffset);
        assertEquals(0, broker.highWatermark(), "replica 4 has not got it");
        assertEquals(0, partition.ackQuorum().waiting());
    }

    @Test
    void oneReplicaInOneRackIsAcksOne() {
        broker.lead(ALL, Map.of());
        assertEquals(Errors.NONE, now(broker.produce(-2)).error);
        assertEquals(0, broker.highWatermark());
    }

    @Test
    void aHolderOutsideTheIsrDoesNotCount() {
        broker.lead(ALL, Map.of("min.insync.replicas", "2"));
        broker.controllerChangesIsr(List.of(1, 2));
        CompletableFuture<PartitionResponse> answer = broker.produce(-2);
        broker.fetch(3, 1);
        broker.fetch(4, 1);
        assertFalse(answer.isDone());
        broker.fetch(2, 1);
        assertEquals(Errors.NONE, now(answer).error);
    }

    @Test
    void aFollowerThatJoinsTheIsrCountsOnceTheControllerAgrees() {
        broker.lead(ALL, Map.of("min.insync.replicas", "2"));
        broker.controllerChangesIsr(List.of(1, 2));
        CompletableFuture<PartitionResponse> answer = broker.produce(-2);
        broker.fetch(3, 1);
        assertTrue(broker.partition().partitionState().isInflight(), "the leader proposes it");
        assertFalse(answer.isDone());
        broker.alterPartition.completeIsrUpdate(10);
        assertEquals(Errors.NONE, now(answer).error);
    }

    @Test
    void aFollowerThatIsProposedForRemovalCountsAgainWhenTheControllerRefuses() {
        broker.lead(ALL, Map.of("min.insync.replicas", "2"));
        broker.produce(1);
        broker.leaderProposesShrink();
        assertTrue(broker.partition().partitionState().isInflight());
        CompletableFuture<PartitionResponse> answer = broker.produce(-2);
        broker.fetch(3, 2);
        assertFalse(answer.isDone(), "it may be out of the in-sync replicas already");
        broker.controllerAnswers(false);
        assertEquals(Errors.NONE, now(answer).error, "no fetch came after the refusal");
    }

    @Test
    void eachRequestWaitsForItsOwnAcks() {
        broker.lead(ALL, TWO_IN_TWO);
        CompletableFuture<PartitionResponse> all = broker.produce(-1);
        CompletableFuture<PartitionResponse> quorum = broker.produce(-2);
        assertEquals(Errors.NONE, now(broker.produce(1)).error);
        CompletableFuture<PartitionResponse> later = broker.produce(-2);
        broker.fetch(3, 2);
        assertEquals(Errors.NONE, now(quorum).error);
        assertFalse(all.isDone());
        assertFalse(later.isDone());
        broker.everyoneFetches();
        assertEquals(Errors.NONE, now(all).error);
        assertEquals(Errors.NONE, now(later).error);
        assertEquals(4, broker.highWatermark());
    }

    @Test
    void aRequestToTwoPartitionsWaitsForBoth() {
        Partition first = broker.lead(ALL, TWO_IN_TWO);
        Partition second = broker.addPartition(1, ALL);
        CompletableFuture<Map<TopicPartition, PartitionResponse>> answer = broker.produceTo(-2, AppendOrigin.CLIENT, 600_000,
            first.topicPartition(), second.topicPartition());
        broker.fetch(first, 3, 1);
        assertFalse(answer.isDone());
        assertEquals(0, first.ackQuorum().waiting(), "it is settled there");
        assertEquals(1, second.ackQuorum().waiting());
        broker.controllerChangesIsr(List.of(1, 2));
        assertFalse(answer.isDone(), "what happens to the first concerns it no more");
        broker.fetch(second, 4, 1);
        assertTrue(answer.isDone());
        now(answer).values().forEach(response -> assertEquals(Errors.NONE, response.error));
        assertEquals(0, second.ackQuorum().waiting());
    }

    @Test
    void oneOfTwoPartitionsMayFailAndTheOtherIsAnsweredStill() {
        Partition first = broker.lead(ALL, TWO_IN_TWO);
        Partition second = broker.addPartition(1, ALL);
        CompletableFuture<Map<TopicPartition, PartitionResponse>> answer = broker.produceTo(-2, AppendOrigin.CLIENT, 600_000,
            first.topicPartition(), second.topicPartition());
        broker.controllerChangesIsr(List.of(1, 2));
        assertFalse(answer.isDone());
        broker.fetch(second, 3, 1);
        assertEquals(Errors.NOT_ENOUGH_RACKS_AFTER_APPEND, now(answer).get(first.topicPartition()).error);
        assertEquals(Errors.NONE, now(answer).get(second.topicPartition()).error);
    }

    @Test
    void refusedBeforeTheAppendWithTooFewReplicasOrRacks() {
        broker.lead(ALL, TWO_IN_TWO);
        broker.controllerChangesIsr(List.of(1));
        PartitionResponse refused = now(broker.produce(-2));
        assertEquals(Errors.NOT_ENOUGH_REPLICAS, refused.error);
        assertEquals("Partition orders-0 has 1 in-sync replica(s) [1], but min.insync.replicas is 2.", refused.errorMessage);
        broker.controllerChangesIsr(List.of(1, 2));
        assertEquals(Errors.NOT_ENOUGH_RACKS, now(broker.produce(-2)).error);
        assertEquals(0, broker.logEnd());
        assertEquals(0, broker.partition().ackQuorum().waiting());
    }

    @Test
    void otherNumbersAreInvalid() {
        broker.lead(ALL, TWO_IN_TWO);
        for (int acks : List.of(-3, 2, 3, 100))
            assertEquals(Errors.INVALID_REQUIRED_ACKS, now(broker.produce(acks)).error);
        assertEquals(0, broker.logEnd());
    }

    @Test
    void loweringTheRequiredReplicasAnswersWithoutAnyWriteOrFetch() {
        broker.lead(ALL, Map.of("min.insync.replicas", "3"));
        CompletableFuture<PartitionResponse> answer = broker.produce(-2);
        broker.fetch(2, 1);
        assertFalse(answer.isDone());
        broker.topicConfig("min.insync.replicas", "2");
        assertEquals(Errors.NONE, now(answer).error);
    }

    @Test
    void loweringTheClusterDefaultAnswersToo() {
        broker.publish(LeaderFixture.config(ConfigResource.Type.BROKER, "", "min.insync.replicas", "3"));
        broker.lead(ALL, Map.of());
        CompletableFuture<PartitionResponse> answer = broker.produce(-2);
        broker.fetch(2, 1);
        assertFalse(answer.isDone());
        broker.publish(LeaderFixture.config(ConfigResource.Type.BROKER, "", "min.insync.replicas", "2"));
        assertEquals(Errors.NONE, now(answer).error);
    }

    @Test
    void loweringTheRequiredRacksOrMovingABrokerAnswers() {
        broker.lead(ALL, TWO_IN_TWO);
        CompletableFuture<PartitionResponse> answer = broker.produce(-2);
        broker.fetch(2, 1);
        assertFalse(answer.isDone());
        broker.topicConfig("min.insync.racks", "1");
        assertEquals(Errors.NONE, now(answer).error);
        broker.topicConfig("min.insync.racks", "2");
        CompletableFuture<PartitionResponse> next = broker.produce(-2);
        broker.fetch(2, 2);
        assertFalse(next.isDone());
        broker.publish(LeaderFixture.broker(2, "c", 1));
        assertEquals(Errors.NONE, now(next).error);
    }

    @Test
    void replicasThatAreAssignedNoMoreAreNotWaitedFor() {
        broker.lead(ALL, Map.of("min.insync.replicas", "3"));
        CompletableFuture<PartitionResponse> answer = broker.produce(-2);
        broker.fetch(2, 1);
        assertFalse(answer.isDone());
        broker.reassign(List.of(1, 2));
        assertEquals(Errors.NONE, now(answer).error, "there are two replicas now");
    }
}
