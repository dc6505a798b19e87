// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;

import io.rackspan.protocol.Electable;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

/** When a leader proposes another electable set, and when it does not: refusals, settings, racks, levels, marks, reassignments and slow followers. */
final class ElectableSwapTest extends ElectableLeaderTest {

    @Test
    void afterARefusalNoSetIsProposedBeforeALaterPartitionEpoch() {
        CompletableFuture<PartitionResponse> answer = produce();
        assertEquals("[1, 2, 3, 4] [1, 2]", proposed());
        broker.alterPartition.failIsrUpdate(Errors.INELIGIBLE_REPLICA);
        fetch(2, 3);
        broker.time.sleep(1_000);
        fetch(2, 3);
        assertEquals("", proposed());
        assertWaits(answer, "there is no set");
        broker.controllerChangesIsr(ALL);
        assertEquals("[1, 2, 3, 4] [1, 2]", proposed());
        broker.controllerNotes();
        assertAnswered(answer);
    }

    @Test
    void afterARefusalTheIsrIsProposedAlone() {
        have(1, 2);
        produce();
        fetch(3, 4);
        broker.time.sleep(LeaderFixture.REPLICA_LAG_MS + 1);
        broker.alterPartition.failIsrUpdate(Errors.INELIGIBLE_REPLICA);
        broker.partition().maybeShrinkIsr();
        assertEquals("[1, 3, 4] null", proposed());
        broker.controllerNotes();
        assertEquals("[1, 3, 4] [1, 3]", proposed(), "the partition epoch is a later one");
        assertEquals("[1, 2]", committed());
    }

    @Test
    void aRequestThatWasNotSentIsMadeAnew() {
        CompletableFuture<PartitionResponse> answer = produce();
        broker.alterPartition.failIsrUpdate(Errors.OPERATION_NOT_ATTEMPTED);
        fetch(2);
        assertEquals("", proposed(), "not at each report");
        broker.time.sleep(ElectableGate.RETRY_MS);
        fetch(2);
        assertEquals("[1, 2, 3, 4] [1, 2]", proposed());
        broker.controllerNotes();
        assertAnswered(answer);
    }

    @Test
    void aRequestOfWhichNothingIsKnownIsStillWaitedFor() {
        have(1, 2);
        CompletableFuture<PartitionResponse> answer = produce();
        broker.time.sleep(300);
        // Behind the check by the timer
        broker.time.sleep(20);
        fetch(3);
        assertEquals("[1, 2, 3, 4] [1, 3]", proposed());
        broker.alterPartition.failIsrUpdate(Errors.INVALID_UPDATE_VERSION);
        assertWaits(answer, "2 lacks it");
        CompletableFuture<PartitionResponse> next = produce();
        fetch(2);
        assertAnswered(answer);
        assertWaits(next, "3 lacks it, and may be a member");
        have(1, 3);
        fetch(3);
        assertAnswered(next);
    }

    @Test
    void aPartitionWithoutSuchRequestsProposesNothing() {
        for (int acks : new int[] {0, 1, -1})
            broker.produce(acks);
        fetch(2, 3, 4);
        broker.time.sleep(1_000);
        fetch(2, 3, 4);
        broker.controllerChangesIsr(List.of(1, 2, 3));
        assertEquals("", proposed());
        assertFalse(broker.partition().quorumGates().electable().isActive());
        assertEquals(3, broker.highWatermark());
    }

    @Test
    void oneReplicaInOneRackNeedsNoSet() {
        broker.topicConfig("min.insync.replicas", "1");
        assertAnswered(produce());
        fetch(2);
        assertEquals("", proposed());
    }

    @Test
    void aSetIsEmptiedWhenOneReplicaSuffices() {
        have(1, 2);
        broker.topicConfig("min.insync.replicas", "1");
        CompletableFuture<PartitionResponse> answer = produce();
        assertEquals("[1, 2, 3, 4] []", proposed());
        assertWaits(answer, "2 lacks it, and may be elected before the controller agrees");
        broker.controllerNotes();
        assertAnswered(answer);
        assertEquals("", proposed());
    }

    @Test
    void aSetSpansTheRacks() {
        broker.topicConfig("min.insync.racks", "2");
        CompletableFuture<PartitionResponse> answer = produce();
        assertEquals("[1, 2, 3, 4] [1, 3]", proposed());
        broker.controllerNotes();
        fetch(2);
        assertWaits(answer, "3 lacks it");
        fetch(3);
        assertAnswered(answer);
    }

    @Test
    void racksOfOneReplicaEachNeedASet() {
        broker.topicConfig("min.insync.replicas", "1");
        broker.topicConfig("min.insync.racks", "2");
        CompletableFuture<PartitionResponse> answer = produce();
        assertEquals("[1, 2, 3, 4] [1, 3]", proposed());
        broker.controllerNotes();
        fetch(3);
        assertAnswered(answer);
    }

    @Test
    void aRaisedNumberOfReplicasIsWaitedForAtOnce() {
        have(1, 2);
        CompletableFuture<PartitionResponse> before = produce();
        broker.topicConfig("min.insync.replicas", "3");
        CompletableFuture<PartitionResponse> answer = produce();
        fetch(2, 3);
        assertWaits(answer, "the set has two members");
        assertWaits(before, "the setting of now is in force");
        assertEquals("[1, 2, 3, 4] [1, 2, 3]", proposed());
        broker.controllerNotes();
        assertAnswered(answer);
        assertAnswered(before);
    }

    @Test
    void aRaisedNumberOfRacksIsWaitedForAtOnce() {
        have(1, 2);
        broker.topicConfig("min.insync.racks", "2");
        CompletableFuture<PartitionResponse> answer = produce();
        fetch(2, 3);
        assertWaits(answer, "the set is in one rack");
        assertEquals("[1, 2, 3, 4] [1, 3]", proposed());
        broker.controllerNotes();
        assertAnswered(answer);
    }

    @Test
    void aMemberThatMovesToTheSameRackIsSwapped() {
        broker.topicConfig("min.insync.racks", "2");
        have(1, 3);
        broker.publish(LeaderFixture.broker(3, "a", 1));
        CompletableFuture<PartitionResponse> answer = produce();
        fetch(3);
        assertWaits(answer, "the set is in one rack now");
        fetch(4);
        assertEquals("[1, 2, 3, 4] [1, 4]", proposed());
        broker.controllerNotes();
        assertAnswered(answer);
    }

    @Test
    void aMarkedMemberIsSwapped() {
        have(Electable.of(List.of(1, 2)).withUnclean(2));
        CompletableFuture<PartitionResponse> answer = produce();
        assertEquals("[1, 2, 3, 4] [1, 2]", proposed(), "it has everything, and joins anew");
        fetch(2);
        assertWaits(answer, "it may not lead before the controller agrees");
        broker.controllerNotes();
        assertAnswered(answer);
    }

    @Test
    void aMarkedMemberJoinsAnewOnlyWithEverything() {
        have(1, 2);
        CompletableFuture<PartitionResponse> first = produce();
        fetch(2);
        assertAnswered(first);
        broker.publish(Electable.of(List.of(1, 2)).withUnclean(2).intoChange(change()).setIsr(List.of(1, 3, 4)));
        broker.fetch(2, 0);
        assertEquals("[1, 2, 3, 4] null", proposed(), "it has all below the high watermark");
        broker.controllerNotes();
        assertEquals("[1, 2] with unclean [2]", committed());
        fetch(3);
        assertEquals("[1, 2, 3, 4] [1, 3]", proposed());
        assertEquals(0, broker.highWatermark());
    }

    @Test
    void atLevel1NoSetIsProposedAndAnyReplicasSuffice() {
        broker.publish(LeaderFixture.level(1));
        CompletableFuture<PartitionResponse> answer = produce();
        fetch(3);
        assertAnswered(answer);
        produce();
        assertFalse(broker.partition().quorumGates().electable().isActive());
        broker.time.sleep(1_000);
        fetch(2, 3);
        assertEquals("", proposed());
    }

    @Test
    void aRequestThatWaitsWhenTheLevelIsRaisedWaitsForASet() {
        broker.publish(LeaderFixture.level(1));
        CompletableFuture<PartitionResponse> answer = produce();
        broker.publish(LeaderFixture.level(2));
        fetch(3);
        assertWaits(answer, "there is no set");
        assertEquals("[1, 2, 3, 4] [1, 2]", proposed());
        broker.controllerNotes();
        assertWaits(answer, "2 lacks it");
        fetch(2);
        assertAnswered(answer);
    }

    @Test
    void whoJoinsTheFirstSetHasWhatWasAcknowledgedAtLevel1() {
        broker.publish(LeaderFixture.level(1));
        CompletableFuture<PartitionResponse> first = produce();
        fetch(3);
        assertAnswered(first);
        broker.publish(LeaderFixture.level(2));
        produce();
        assertEquals("[1, 2, 3, 4] [1, 3]", proposed(), "2 and 4 lack the first record");
    }

    @Test
    void theLevelMayBeLoweredWhileAProposalIsOnItsWay() {
        CompletableFuture<PartitionResponse> answer = produce();
        broker.publish(LeaderFixture.level(1));
        fetch(3);
        assertWaits(answer, "the controller may have accepted a set before");
        broker.alterPartition.failIsrUpdate(Errors.INELIGIBLE_REPLICA);
        fetch(3, 2);
        assertAnswered(answer);
        assertEquals("", proposed());
    }

    private void reassign(List<Integer> adding, List<Integer> removing) {
        PartitionChangeRecord record = change().setAddingReplicas(adding).setRemovingReplicas(removing);
        broker.publish(record);
    }

    @Test
    void aMemberThatAReassignmentRemovesIsSwapped() {
        have(1, 2);
        reassign(List.of(), List.of(2));
        CompletableFuture<PartitionResponse> answer = produce();
        assertEquals("[1, 2, 3, 4] [1, 3]", proposed());
        broker.controllerNotes();
        fetch(3);
        assertAnswered(answer);
    }

    @Test
    void aSetWithinTheTargetMaySpanLessThanIsRequired() {
        broker.topicConfig("min.insync.racks", "2");
        have(1, 3);
        CompletableFuture<PartitionResponse> answer = produce();
        fetch(3);
        assertAnswered(answer);
        reassign(List.of(), List.of(3, 4));
        broker.time.sleep(10);
        fetch(2);
        assertEquals("[1, 2, 3, 4] [1, 2]", proposed(), "the reassignment waits for it");
        broker.controllerNotes();
        CompletableFuture<PartitionResponse> next = produce();
        fetch(2);
        assertWaits(next, "the set is in one rack");
    }

    /** Requests that 3 fetches at once and 2 after some ms, or the reverse; returns what was proposed after which of them. */
    private List<String> produceWith(int slow, int slowMs, int requests) {
        List<String> proposals = new ArrayList<>();
        for (int i = 0; i < requests; i++) {
            produce();
            fetch(slow == 2 ? 3 : 2);
            broker.time.sleep(slowMs);
            fetch(slow);
            fetch(4);
            if (!proposed().isEmpty()) {
                proposals.add(i + ": " + proposed());
                broker.controllerNotes();
            }
        }
        return proposals;
    }

    @Test
    void aSlowMemberIsSwappedNotMoreOftenThanAllowed() {
        have(1, 2);
        List<String> first = produceWith(2, 40, 20);
        assertEquals(1, first.size(), first.toString());
        assertEquals("[1, 2, 3, 4] [1, 3]", first.get(0).substring(first.get(0).indexOf(' ') + 1));
        List<String> second = produceWith(3, 40, 20);
        assertEquals(1, second.size(), second.toString());
        assertEquals("[1, 2]", committed());
        List<String> noise = new ArrayList<>();
        for (int i = 0; i < 30; i++)
            noise.addAll(produceWith(2 + i % 2, 4, 1));
        assertEquals(List.of(), noise, "both are as fast");
    }

    @Test
    void aMemberThatStallsIsSwappedThoughNothingElseIsAppended() {
        have(1, 2);
        CompletableFuture<PartitionResponse> first = produce();
        CompletableFuture<PartitionResponse> second = produce();
        broker.fetch(2, 1);
        assertAnswered(first);
        fetch(3);
        assertEquals("", proposed());
        broker.time.sleep(100);
        fetch(3);
        assertEquals("[1, 2, 3, 4] [1, 3]", proposed(), "2 has fetched only the first of two records of one ms");
        broker.controllerNotes();
        assertAnswered(second);
    }

    @Test
    void timeInWhichNobodyAskedIsNoDelay() {
        have(1, 2);
        produce();
        fetch(3, 4);
        broker.time.sleep(ElectableGate.IDLE_MS - 1);
        broker.produce(1);
        fetch(2, 3, 4);
        broker.time.sleep(ElectableGate.IDLE_MS);
        while (!committed().equals("[]")) {
            fetch(2, 3, 4);
            if (!proposed().isEmpty())
                broker.controllerNotes();
        }
        fetch(2, 3, 4);
        broker.time.sleep(3_600_000);
        CompletableFuture<PartitionResponse> answer = produce();
        assertEquals("[1, 2, 3, 4] [1, 2]", proposed(), "they are as fast as one another");
        broker.controllerNotes();
        fetch(2);
        assertAnswered(answer);
    }
}
