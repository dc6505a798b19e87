// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;

import io.rackspan.protocol.Electable;

import com.yammer.metrics.core.Meter;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.concurrent.CompletableFuture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

/** Answers to acks=min.insync.replicas, and the high watermark, where a leader goes by an electable set. */
final class ElectableGateTest extends ElectableLeaderTest {

    @Test
    void theFirstRequestProposesASetAndWaitsForItsCommit() {
        CompletableFuture<PartitionResponse> answer = produce();
        assertEquals("[1, 2, 3, 4] [1, 2]", proposed());
        fetch(2, 3);
        assertWaits(answer, "a leader of the ISR that is elected now may be 4");
        broker.controllerNotes();
        assertAnswered(answer);
        assertEquals("[1, 2]", committed());
        assertEquals(0, broker.highWatermark());
        assertEquals("", proposed());
    }

    /** A controller that is gone leaves a proposal unanswered, and the partition sends no other one before. */
    @Test
    void aSetThatCannotBeProposedIsNotProposedAtEachAppend() {
        produce();
        assertEquals("[1, 2, 3, 4] [1, 2]", proposed());
        broker.controllerChangesIsr(List.of(1, 3, 4));
        long before = failedProposals();
        for (int i = 0; i < 100; i++)
            broker.produce(1);
        assertEquals(before, failedProposals());
        broker.time.sleep(ElectableGate.RETRY_MS);
        broker.produce(1);
        assertEquals(before + 1, failedProposals());
    }

    private static long failedProposals() {
        return KafkaYammerMetrics.defaultRegistry().allMetrics().entrySet().stream()
            .filter(metric -> metric.getKey().getName().equals("FailedIsrUpdatesPerSec")).mapToLong(metric -> ((Meter) metric.getValue()).count()).sum();
    }

    @Test
    void aSetIsOfFollowersThatHaveReported() {
        broker.publish(broker.electing(2));
        broker.publish(broker.electing(1));
        CompletableFuture<PartitionResponse> answer = produce();
        assertEquals("", proposed(), "nobody is known to have what was there before");
        fetch(3);
        assertEquals("[1, 2, 3, 4] [1, 3]", proposed());
        broker.controllerNotes();
        assertAnswered(answer);
    }

    @Test
    void everyMemberHasToHoldARecordAndOthersDoNotCount() {
        have(1, 2, 3);
        CompletableFuture<PartitionResponse> answer = produce();
        fetch(4, 2);
        assertWaits(answer, "3 lacks it");
        fetch(3);
        assertAnswered(answer);
    }

    @Test
    void whatTheHighWatermarkPassesIsAnswered() {
        CompletableFuture<PartitionResponse> answer = produce();
        assertEquals("[1, 2, 3, 4] [1, 2]", proposed());
        fetch(2, 3, 4);
        assertEquals(1, broker.highWatermark());
        assertAnswered(answer);
    }

    @Test
    void membersOfTheCommittedAndOfTheProposedSetHaveToHoldARecord() {
        have(1, 2);
        CompletableFuture<PartitionResponse> first = produce();
        broker.time.sleep(300);
        // Behind the check by the timer
        broker.time.sleep(20);
        fetch(3);
        assertEquals("[1, 2, 3, 4] [1, 3]", proposed(), "2 is slow");
        assertWaits(first, "2 lacks it, and may be elected as long as the controller has not agreed");
        CompletableFuture<PartitionResponse> second = produce();
        fetch(2);
        assertAnswered(first);
        assertWaits(second, "3 lacks it, and may be elected from the moment on that the controller agrees");
        fetch(3);
        assertAnswered(second);
        CompletableFuture<PartitionResponse> third = produce();
        fetch(3);
        assertWaits(third, "2 lacks it");
        broker.controllerNotes();
        assertAnswered(third);
    }

    @Test
    void theHighWatermarkWaitsWhileAMemberIsOutsideTheIsr() {
        have(1, 2);
        CompletableFuture<PartitionResponse> quorum = produce();
        fetch(2);
        assertAnswered(quorum);
        broker.publish(new BrokerRegistrationChangeRecord().setBrokerId(2).setBrokerEpoch(1).setFenced((byte) 1));
        broker.controllerChangesIsr(List.of(1, 3, 4));
        assertEquals("", proposed(), "3 and 4 lack what was acknowledged");
        CompletableFuture<PartitionResponse> all = broker.produce(-1);
        broker.fetch(4, 1);
        assertEquals("[1, 3, 4] [1, 4]", proposed());
        fetch(3, 4);
        assertEquals(0, broker.highWatermark(), "2 lacks the second record, and may be elected");
        assertWaits(all, "it would not be in a log of everyone who may be elected");
        broker.controllerNotes();
        assertEquals(2, broker.highWatermark());
        assertAnswered(all);
    }

    @Test
    void aMemberThatTheLeaderRemovesFromTheIsrIsSwappedInTheSameRequest() {
        have(1, 2);
        CompletableFuture<PartitionResponse> answer = produce();
        fetch(3, 4);
        broker.time.sleep(LeaderFixture.REPLICA_LAG_MS + 1);
        assertEquals("[1, 2, 3, 4] [1, 3]", proposed(), "without any fetch it is noticed when the ISR is checked");
        broker.alterPartition.failIsrUpdate(Errors.OPERATION_NOT_ATTEMPTED);
        broker.partition().maybeShrinkIsr();
        assertEquals("[1, 3, 4] [1, 3]", proposed());
        assertWaits(answer, "2 lacks it, and may be elected");
        broker.controllerNotes();
        assertEquals("[1, 3]", committed());
        assertAnswered(answer);
    }

    @Test
    void aFollowerMayJoinTheIsrAndTheSetInOneRequest() {
        have(1, 2);
        broker.controllerChangesIsr(List.of(1));
        assertEquals("", proposed(), "1 alone does not suffice");
        broker.publish(broker.electing(1));
        broker.produce(1);
        fetch(4);
        assertEquals("[1, 4] [1, 4]", proposed());
        broker.controllerNotes();
        assertEquals("[1, 4]", committed());
    }

    @Test
    void aJoinerHasEverythingOfEarlierEpochs() {
        have(1, 2);
        broker.produce(1);
        broker.produce(1);
        broker.publish(broker.electing(1).setIsr(List.of(1, 3, 4)));
        produce();
        broker.fetch(3, 1);
        assertEquals("", proposed(), "what an earlier leader acknowledged may be in the second record");
        broker.fetch(3, 2);
        assertEquals("[1, 3, 4] [1, 3]", proposed());
    }

    @Test
    void aLeaderHasTheSetOfTheMetadata() {
        broker.publish(broker.electing(2));
        broker.publish(Electable.of(List.of(1, 2)).intoChange(change()));
        broker.publish(broker.electing(1));
        assertEquals("[1, 2]", committed());
        CompletableFuture<PartitionResponse> answer = produce();
        fetch(3);
        assertWaits(answer, "2 lacks it");
        fetch(2);
        assertAnswered(answer);
        assertEquals("", proposed());
        broker.publish(broker.electing(2));
        assertEquals("[]", committed(), "it leads no more");
    }

    @Test
    void anIdleSetIsEmptiedOnceEverythingIsBelowTheHighWatermark() {
        have(1, 2);
        CompletableFuture<PartitionResponse> answer = produce();
        fetch(2, 3);
        assertAnswered(answer);
        broker.time.sleep(ElectableGate.IDLE_MS);
        fetch(2);
        assertEquals("", proposed(), "4 lacks it, and must not be elected");
        fetch(4);
        broker.time.sleep(ElectableGate.IDLE_MS);
        fetch(2);
        assertEquals("[1, 2, 3, 4] []", proposed());
        broker.controllerNotes();
        assertEquals("[]", committed());
        broker.time.sleep(ElectableGate.IDLE_MS);
        fetch(2, 3, 4);
        assertEquals("", proposed());
    }

    @Test
    void nothingIsAcknowledgedWhileASetIsEmptied() {
        have(1, 2);
        broker.time.sleep(ElectableGate.IDLE_MS);
        fetch(2);
        assertEquals("[1, 2, 3, 4] []", proposed());
        CompletableFuture<PartitionResponse> answer = produce();
        fetch(2);
        assertWaits(answer, "anyone of the ISR may be elected from the moment on that the controller agrees");
        broker.controllerNotes();
        assertWaits(answer, "the set is empty");
        assertEquals("[1, 2, 3, 4] [1, 2]", proposed());
        broker.controllerNotes();
        assertAnswered(answer);
    }

    @Test
    void aSetIsKeptWhileRequestsCome() {
        have(1, 2);
        for (int i = 0; i < 6; i++) {
            CompletableFuture<PartitionResponse> answer = produce();
            fetch(2, 3, 4);
            assertAnswered(answer);
            broker.time.sleep(ElectableGate.IDLE_MS / 2);
            fetch(2, 3, 4);
            assertEquals("", proposed());
        }
    }

    @Test
    void theMetadataOfAnAcceptedSetDoesNotEndTheNextProposal() {
        CompletableFuture<PartitionResponse> first = produce();
        fetch(2);
        Runnable metadata = broker.controllerNotesLate();
        assertAnswered(first);
        CompletableFuture<PartitionResponse> second = produce();
        broker.time.sleep(300);
        // Behind the check by the timer
        broker.time.sleep(20);
        fetch(3);
        assertEquals("[1, 2, 3, 4] [1, 3]", proposed());
        metadata.run();
        fetch(2);
        assertAnswered(second);
        CompletableFuture<PartitionResponse> third = produce();
        fetch(2);
        assertWaits(third, "3 lacks it, and the proposal is still on its way");
        broker.controllerNotes();
        assertEquals("[1, 3]", committed());
    }
}
