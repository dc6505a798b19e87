// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.MetadataCache;
import org.apache.kafka.server.partition.CommittedPartitionState;
import org.apache.kafka.server.partition.PartitionState;
import org.apache.kafka.server.partition.PendingExpandIsr;
import org.apache.kafka.server.partition.PendingShrinkIsr;
import org.apache.kafka.server.replica.Replica;
import org.apache.kafka.server.replica.ReplicaState;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;

import io.rackspan.metadata.BrokerRacks;

import com.sun.management.ThreadMXBean;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

/** The replicas that count, the start of a new count, and the waking of waiters. Brokers 1 (leader) and 2 in rack a, 3 in rack b. */
final class AckQuorumTest {

    private static final TopicPartition TP = new TopicPartition("orders", 0);
    private static final CommittedPartitionState ALL = committed(1, 2, 3);
    private static final LeaderAndIsr SENT = new LeaderAndIsr(1, List.of(1, 2));

    private final Map<Integer, Replica> followers = new HashMap<>();
    private BrokerRacks racks = BrokerRacks.of(Map.of(1, "a", 2, "a", 3, "b"));
    private AckQuorum quorum;

    private static CommittedPartitionState committed(Integer... isr) {
        return new CommittedPartitionState(Set.of(isr), LeaderRecoveryState.RECOVERED);
    }

    @BeforeEach
    void startTerm() {
        for (int id : List.of(2, 3))
            followers.put(id, new Replica(id, TP, aliveBrokers()));
        quorum = new AckQuorum(TP, 1, followers::get, () -> racks);
        quorum.startTerm();
    }

    private static MetadataCache aliveBrokers() {
        MetadataCache cache = mock(MetadataCache.class);
        when(cache.getAliveBrokerEpoch(anyInt())).thenReturn(Optional.empty());
        return cache;
    }

    private void report(int follower, long end) {
        followers.get(follower).updateFetchStateOrThrow(new LogOffsetMetadata(end), 0, 0, end, -1);
    }

    private boolean fetch(int follower, long end) {
        long before = followers.get(follower).stateSnapshot().logEndOffset();
        report(follower, end);
        return isWoken(follower, before);
    }

    private boolean isWoken(int follower, long before) {
        return quorum.wakes(followers.get(follower), before);
    }

    @Test
    void wakesExactlyWhenSomebodyHasWhatHeMissed() {
        quorum.await();
        assertFalse(quorum.reached(5, ALL, 2, 2, null));
        assertFalse(quorum.reached(4, ALL, 2, 2, null));
        assertFalse(fetch(2, 5), "still in one rack");
        assertFalse(fetch(3, 3), "nobody waits for that");
        assertTrue(fetch(3, 4));
        assertTrue(quorum.reached(4, ALL, 2, 2, null));
        assertFalse(quorum.reached(5, ALL, 2, 2, null));
        assertFalse(fetch(3, 4), "nothing new");
        assertTrue(fetch(3, 5));
        assertFalse(fetch(3, 6), "nobody waits any more");
        assertTrue(quorum.reached(5, ALL, 2, 2, null));
    }

    @Test
    void wakesForWhatIsMissedForAnotherReason() {
        quorum.await();
        quorum.misses(3);
        quorum.misses(5);
        assertFalse(fetch(2, 2));
        assertTrue(fetch(2, 3));
        assertFalse(fetch(2, 3));
    }

    @Test
    void whoMissesNothingIsNotWokenWhereTheLeaderIsEnough() {
        quorum.await();
        assertFalse(fetch(2, 1));
    }

    @Test
    void anAdvanceThatACheckFoundFirstWakesTheOthers() {
        quorum.await();
        assertFalse(quorum.reached(2, ALL, 2, 1, null));
        report(2, 2);
        assertTrue(quorum.reached(2, ALL, 2, 1, null));
        assertTrue(isWoken(2, 0), "waiters that were not checked must be woken");
        assertFalse(isWoken(2, 0));
    }

    @Test
    void wakesForTheLowestOffsetWhereRequestsWereCountedDifferently() {
        quorum.await();
        assertFalse(quorum.reached(4, ALL, 2, 1, null));
        assertFalse(quorum.reached(3, ALL, 3, 1, null));
        assertFalse(fetch(2, 2));
        assertTrue(fetch(2, 3), "which of them it is for is left to the checks");
        assertFalse(fetch(2, 4));
        assertFalse(quorum.reached(5, ALL, 3, 1, null));
        assertFalse(fetch(2, 5), "all were counted over three replicas since");
        assertTrue(fetch(3, 5));
    }

    @Test
    void aFollowerThatHadAllThatIsMissedWakesNobody() {
        quorum.await();
        report(2, 5);
        assertFalse(quorum.reached(3, ALL, 3, 1, null));
        assertFalse(quorum.reached(5, ALL, 2, 2, null));
        assertFalse(fetch(2, 6), "it had both");
        assertFalse(quorum.reached(7, ALL, 2, 2, null));
        assertTrue(fetch(2, 7), "it lacked one of them");
    }

    @Test
    void aFollowerThatHadOnlyTheLowestThatIsMissedWakesForTheOthers() {
        quorum.await();
        assertFalse(quorum.reached(5, ALL, 2, 1, null));
        report(2, 6);
        assertFalse(quorum.reached(8, ALL, 2, 1, null));
        assertTrue(fetch(2, 8));
    }

    @Test
    void theFirstReportOfAnEpochWakesThoughTheLogEndWasBeyondBefore() {
        quorum.await();
        report(2, 6);
        quorum.startEpoch(followers.values());
        assertFalse(quorum.reached(5, ALL, 2, 1, null));
        assertTrue(fetch(2, 7));
    }

    @Test
    void aReportFromWhereTheLogEndWasWakesOnlyIfItIsTheFirstOfAnEpoch() {
        quorum.await();
        report(2, 3);
        report(3, 3);
        quorum.startEpoch(followers.values());
        PartitionState after = committed(1, 2, 3);
        assertFalse(quorum.reached(3, after, 3, 1, null));
        assertFalse(isWoken(3, 3), "no report of this epoch");
        assertFalse(fetch(3, 3), "broker 2 has not reported in this epoch");
        assertTrue(fetch(2, 3));
        assertFalse(quorum.reached(4, after, 3, 1, null));
        quorum.misses(3);
        assertFalse(fetch(2, 3), "the second report of the epoch");
        assertTrue(quorum.reached(3, after, 3, 1, null));
    }

    /** A report whose thread is late: the epoch in which it was made is over. */
    @Test
    void aReportOfAnEarlierEpochConfirmsNothing() {
        quorum.await();
        quorum.startEpoch(followers.values());
        report(2, 3);
        quorum.startEpoch(followers.values());
        quorum.misses(3);
        assertFalse(isWoken(2, 3));
        assertFalse(isWoken(2, 0));
        assertFalse(quorum.reached(3, ALL, 2, 1, null));
        assertTrue(fetch(2, 3));
    }

    /** The report comes when the check has counted and has not yet noted what it misses, so that it wakes nobody. */
    @Test
    void aReportDuringACheckIsFoundByTheCheck() {
        quorum.await();
        followers.put(2, new Replica(2, TP, aliveBrokers()) {
            private boolean isRead = false;

            @Override
            public ReplicaState stateSnapshot() {
                ReplicaState before = super.stateSnapshot();
                if (!isRead) {
                    isRead = true;
                    report(2, 5);
                    assertFalse(isWoken(2, before.logEndOffset()), "nothing is missed yet");
                }
                return before;
            }
        });
        assertTrue(quorum.reached(5, ALL, 2, 1, null));
    }

    /** As after an unclean restart: who waits for a record written twice may need the lower offset. */
    @Test
    void aFollowerThatTruncatesCountsWhenItAdvancesAgain() {
        quorum.await();
        assertFalse(quorum.reached(9, ALL, 2, 1, null));
        assertTrue(fetch(2, 9));
        assertFalse(fetch(2, 3));
        assertFalse(quorum.reached(5, ALL, 2, 1, null));
        assertTrue(fetch(2, 5));
        assertTrue(quorum.reached(5, ALL, 2, 1, null));
    }

    @Test
    void aReplicaThatTheLeaderProposesToRemoveOrToAddDoesNotCount() {
        quorum.await();
        report(2, 9);
        report(3, 9);
        assertTrue(quorum.reached(9, ALL, 3, 1, null));
        assertFalse(quorum.reached(1, new PendingShrinkIsr(Set.of(3), SENT, ALL), 3, 1, null));
        assertTrue(quorum.reached(9, new PendingShrinkIsr(Set.of(3), SENT, ALL), 2, 1, null));
        assertFalse(quorum.reached(1, new PendingExpandIsr(3, SENT, committed(1, 2)), 3, 1, null));
        assertTrue(quorum.reached(9, new PendingExpandIsr(3, SENT, committed(1, 2)), 2, 1, null));
    }

    @Test
    void aHolderThatIsNotInSyncDoesNotCount() {
        quorum.await();
        report(2, 9);
        assertFalse(quorum.reached(1, committed(1, 3), 2, 1, null));
    }

    @Test
    void aLeaderAloneHoldsEverything() {
        quorum.await();
        assertTrue(quorum.reached(1_000_000, committed(1), 1, 1, null));
        assertFalse(quorum.reached(1, committed(1), 2, 1, null));
        assertFalse(quorum.reached(1, committed(1), 1, 2, null));
    }

    @Test
    void racksAreThoseOfNow() {
        quorum.await();
        report(2, 1);
        assertFalse(quorum.reached(1, ALL, 2, 2, null));
        racks = BrokerRacks.of(Map.of(1, "a", 2, "c", 3, "b"));
        assertTrue(quorum.reached(1, ALL, 2, 2, null));
    }

    @Test
    void reportsOfAnEarlierEpochDoNotCountUntilRepeated() {
        quorum.await();
        report(2, 7);
        assertTrue(quorum.reached(7, ALL, 2, 1, null));
        quorum.startEpoch(followers.values());
        PartitionState after = committed(1, 2, 3);
        assertFalse(quorum.reached(1, after, 2, 1, null), "another broker may have led in between");
        assertTrue(fetch(2, 6));
        assertTrue(quorum.reached(6, after, 2, 1, null));
        assertFalse(quorum.reached(7, after, 2, 1, null));
    }

    @Test
    void whatWasReportedWhileNobodyWaitedCounts() {
        quorum.await().release();
        assertFalse(quorum.reached(3, ALL, 2, 1, null));
        report(2, 3);
        assertFalse(quorum.isAwaited());
        quorum.await();
        assertTrue(quorum.reached(3, ALL, 2, 1, null));
    }

    @Test
    void waitersAreCountedOnceEach() {
        AckQuorum.Waiter first = quorum.await();
        AckQuorum.Waiter second = quorum.await();
        assertEquals(2, quorum.waiting());
        first.release();
        first.release();
        assertEquals(1, quorum.waiting());
        assertTrue(quorum.isAwaited());
        second.release();
        assertFalse(quorum.isAwaited());
    }

    @Test
    void aWaiterBelongsToItsTermOnly() {
        AckQuorum.Waiter waiter = quorum.await();
        assertTrue(quorum.isInTerm(waiter));
        quorum.startEpoch(followers.values());
        assertTrue(quorum.isInTerm(waiter), "the leader has not changed");
        quorum.endTerm();
        assertFalse(quorum.isInTerm(waiter));
        AckQuorum.Waiter late = quorum.await();
        assertFalse(quorum.isInTerm(late), "there is no term");
        quorum.startTerm();
        assertFalse(quorum.isInTerm(waiter));
        assertFalse(quorum.isInTerm(late));
        assertTrue(quorum.isInTerm(quorum.await()));
    }

    @Test
    void whatWasAcknowledgedIsForgottenWithTheTerm() {
        AckQuorum.Waiter waiter = quorum.await();
        quorum.acknowledged(waiter, 5);
        quorum.acknowledged(waiter, 3);
        assertEquals(5, quorum.acknowledged());
        quorum.startTerm();
        assertEquals(0, quorum.acknowledged());
    }

    @Test
    void anAnswerThatIsLateIsNotNotedInTheNextTerm() {
        AckQuorum.Waiter waiter = quorum.await();
        quorum.startTerm();
        quorum.acknowledged(waiter, 5);
        assertEquals(0, quorum.acknowledged());
        quorum.endTerm();
        quorum.acknowledged(waiter, 5);
        assertEquals(0, quorum.acknowledged());
    }

    @Test
    void aReportAllocatesNothing() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long self = Thread.currentThread().getId();
        quorum.await();
        report(2, 1);
        assertFalse(quorum.reached(1, ALL, 2, 2, null));
        int calls = 100_000;
        long used = 0;
        for (int round = 0; round < 3; round++) {
            long before = threads.getThreadAllocatedBytes(self);
            for (int i = 0; i < calls; i++)
                assertFalse(isWoken(2, 0));
            used = threads.getThreadAllocatedBytes(self) - before;
        }
        assertTrue(used < calls, used + " bytes for " + calls + " reports");
    }
}
