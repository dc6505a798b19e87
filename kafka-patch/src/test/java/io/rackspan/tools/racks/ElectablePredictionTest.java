// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Voter;
import io.rackspan.prediction.Loss;
import io.rackspan.prediction.Prediction;
import io.rackspan.prediction.Predictor;
import io.rackspan.prediction.RackFailures;
import io.rackspan.prediction.Verdict;
import io.rackspan.protocol.Electable;
import io.rackspan.tools.racks.StopCheck.Obstacle;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

import static io.rackspan.prediction.Verdict.NO;
import static io.rackspan.prediction.Verdict.UNKNOWN;
import static io.rackspan.prediction.Verdict.YES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Predictions at level 2, for partitions with an electable set and without. */
final class ElectablePredictionTest {

    private static final Map<String, String> TWO = Map.of(Views.MIN_REPLICAS, "2");
    private static final List<Voter> ELSEWHERE = List.of(new Voter(100, "x", true));

    private static ClusterView view(String racks, Map<String, String> own, Partition partition) {
        return Views.of(2, true, racks, ELSEWHERE, Views.topic("t", own, partition));
    }

    /** Three replicas in sync, led by 1. */
    private static Partition with(Electable set) {
        return Views.partition(List.of(1, 2, 3)).withElectable(set);
    }

    private static Electable set(Integer... members) {
        return Electable.of(List.of(members));
    }

    private static void assertAnswers(Prediction p, Verdict writable, Verdict readable, Verdict electable, Verdict safe) {
        assertEquals(List.of(writable, readable, electable, safe), List.of(p.writable(), p.readable(), p.electable(), p.safe()), p.toString());
    }

    @Test
    void aMemberOfTheSetLeadsAndNotTheFirstReplicaInSync() throws UsageException {
        Prediction p = Views.without(view("abc", TWO, with(set(1, 3))), "a", true);
        assertAnswers(p, YES, YES, YES, YES);
        assertEquals(3, p.leader());
        assertEquals(YES, p.safeFew());
        assertEquals(2, Views.without(view("abc", TWO, with(Electable.NONE)), "a", true).leader());
    }

    @Test
    void aMemberThatMayLackRecordsDoesNotLead() throws UsageException {
        Prediction p = Views.without(view("abc", TWO, with(set(1, 2, 3).withUnclean(2))), "a", true);
        assertEquals(3, p.leader());
        assertAnswers(p, YES, YES, YES, YES);
    }

    @Test
    void aMemberThatIsNotInSyncJoinsTheIsrAsItLeads() throws UsageException {
        Prediction p = Views.without(view("abc", TWO, Views.partition(List.of(1, 2, 3), 1, 2).withElectable(set(1, 3))), "a", false);
        assertEquals(3, p.leader());
        assertEquals(List.of(2, 3), p.isr());
        assertAnswers(p, YES, YES, YES, YES);
    }

    @Test
    void aLostMemberHoldsTheHighWatermarkOnlyUntilItIsReplaced() throws UsageException {
        Prediction p = Views.without(view("abc", TWO, with(set(1, 3))), "c", false);
        assertAnswers(p, YES, YES, YES, YES);
        assertEquals(List.of(YES, YES), List.of(p.writableFew(), p.visible()));
    }

    @Test
    void withoutAnyMemberThePartitionWaitsAndNothingIsLostWithACleanShutdown() throws UsageException {
        ClusterView view = view("abc", TWO, with(set(1, 2)));
        Prediction p = Views.without(view, "a,b", false);
        assertAnswers(p, NO, NO, NO, YES);
        assertEquals("no leader: of the electable set [1, 2] none is left", p.reason());
        assertAnswers(Views.without(view("abc", TWO, with(Electable.NONE)), "a,b", false), NO, YES, YES, YES);
    }

    @Test
    void aPowerCutOfAllMembersLeavesRecordsWhereNobodyMayLead() throws UsageException {
        Prediction p = Views.without(view("abc", TWO, with(set(1, 2))), "a,b", true);
        assertAnswers(p, NO, NO, NO, UNKNOWN);
        assertTrue(p.reason().endsWith("acknowledged records may be in [3] only, which are down or may not lead"), p.reason());
        assertAnswers(Views.without(view("abc", TWO, Views.partition(List.of(1, 2), 1, 2).withElectable(set(1, 2))), "a,b", true), NO, NO, NO, NO);
    }

    @Test
    void anUncleanElectionLeavesTheLeaderAloneInSync() throws UsageException {
        Map<String, String> own = Map.of(Views.MIN_REPLICAS, "2", "unclean.leader.election.enable", "true");
        Prediction p = Views.without(view("abcd", own, Views.partition(List.of(1, 2, 3, 4)).withElectable(set(1, 2))), "a,b", false);
        assertAnswers(p, NO, YES, NO, NO);
        assertEquals(List.of(3), p.isr());
    }

    @Test
    void anUncleanElectionTakesAReplicaInSyncBeforeOthers() throws UsageException {
        Map<String, String> own = Map.of(Views.MIN_REPLICAS, "2", "unclean.leader.election.enable", "true");
        Partition partition = Views.partition(List.of(1, 2, 3, 4), 1, 2, 4).withElectable(set(1, 2));
        assertEquals(List.of(4), Views.without(view("abcd", own, partition), "a,b", false).isr());
    }

    @Test
    void aSetWithoutAnyMemberThatMayLeadIsNamed() {
        Partition partition = new Partition(0, -1, List.of(1, 2, 3), List.of(3), List.of(), List.of()).withElectable(set(1, 2).withUnclean(1));
        ClusterView view = view("aBc", TWO, partition);
        Prediction p = Predictor.now(view, view.topics().get("t"), partition);
        assertAnswers(p, NO, NO, NO, YES);
        assertEquals("no leader: of the electable set [1, 2] with unclean [1] none is left", p.reason());
        assertTrue(partition.lacksElectable());
        assertFalse(with(set(1)).lacksElectable());
    }

    @Test
    void fewerAcksAreAsSafeAsAllUnlessOneReplicaIsEnough() throws UsageException {
        assertEquals(YES, Views.without(view("abc", TWO, with(Electable.NONE)), "a", true).safeFew());
        assertEquals(UNKNOWN, Views.without(view("abc", Map.of(), with(Electable.NONE)), "a", true).safeFew());
        assertEquals(YES, Views.without(view("abc", Map.of(Views.MIN_RACKS, "2"), with(Electable.NONE)), "a", true).safeFew());
        Map<String, String> scope = Map.of(Views.MIN_REPLICAS, "2", "acks.all.scope", "min.insync.replicas");
        assertEquals(YES, Views.without(view("abc", scope, with(set(1, 2))), "a", true).safe());
        assertEquals(UNKNOWN, Views.without(Views.of("abc", Views.topic("t", scope, with(Electable.NONE))), "a", true).safe());
    }

    @Test
    void withoutAQuorumOnlyTheMembersOfTheSetAcknowledge() {
        Loss third = Loss.ofBrokers(List.of(3));
        assertEquals(YES, withoutQuorum(set(1, 2), third).writableFew());
        assertEquals(NO, withoutQuorum(set(1, 3), third).writableFew());
        assertEquals(NO, withoutQuorum(Electable.NONE, third).writableFew());
        assertEquals(NO, withoutQuorum(set(1), third).writableFew());
        assertEquals(YES, withoutQuorum(Electable.NONE, Loss.NONE).writableFew());
    }

    private static Prediction withoutQuorum(Electable set, Loss loss) {
        ClusterView view = view("abc", TWO, with(set));
        return Predictor.predict(view, view.topics().get("t"), with(set), loss, NO);
    }

    @Test
    void withoutAQuorumTheHighWatermarkWaitsForAMemberThatIsNotInSync() {
        Partition partition = Views.partition(List.of(1, 2, 3), 1, 2).withElectable(set(1, 3));
        ClusterView view = view("abc", TWO, partition);
        assertEquals(YES, Predictor.predict(view, view.topics().get("t"), partition, Loss.NONE, YES).visible());
        assertEquals(NO, Predictor.predict(view, view.topics().get("t"), partition, Loss.NONE, NO).visible());
    }

    @Test
    void aSetBearsTheLossOfAsManyRacksAsItsMembersLeave() {
        assertEquals(new RackFailures(1, 2), failures(with(Electable.NONE)));
        assertEquals(new RackFailures(1, 1), failures(with(set(1, 2))));
        assertEquals(new RackFailures(1, 2), failures(with(set(1, 2, 3))));
        assertEquals(new RackFailures(0, 0), failures(with(set(1, 2).withUnclean(2))));
    }

    private static RackFailures failures(Partition partition) {
        ClusterView view = view("abc", TWO, partition);
        return RackFailures.of(new RackFailures.Losses(view), view.topics().get("t"), partition);
    }

    @Test
    void brokersThatHaveAllMembersAreStoppedOneAfterTheOther() {
        ClusterView view = view("abcd", TWO, Views.partition(List.of(1, 2, 3, 4)).withElectable(set(1, 2)));
        assertEquals(List.of(), StopCheck.obstacles(view, Loss.ofBrokers(List.of(1))));
        List<Obstacle> both = StopCheck.obstacles(view, Loss.ofBrokers(List.of(1, 2)));
        assertEquals(List.of("no leader: of the electable set [1, 2] none is left; stop them one after the other, so that the leader can choose other members"),
            both.stream().map(Obstacle::reason).toList());
        assertEquals(List.of(), StopCheck.obstacles(view("abcd", TWO, Views.partition(List.of(1, 2, 3, 4))), Loss.ofBrokers(List.of(1, 2))));
    }

    @Test
    void aMemberThatIsMovedAwayIsReplacedBeforeTheMoveEnds() {
        assertMoved(set(1, 2), 1, set(1, 2), 1, 2, 4);
        assertMoved(set(1, 2), 1, set(1, 3), 1, 2, 4);
        assertMoved(set(2, 4), 2, set(1, 3), 2, 4);
        assertMoved(set(1, 4), 1, set(1, 2).withUnclean(2), 1, 4);
        assertMoved(Electable.NONE, 4, Electable.NONE, 4, 2);
    }

    @Test
    void aLeaderThatIsMovedAwayHandsOverToAMemberThatStays() {
        assertMoved(set(3, 4), 3, set(1, 3), 4, 2, 3);
    }

    private static void assertMoved(Electable expected, int leader, Electable before, Integer... after) {
        ClusterView view = view("abcd", TWO, with(before));
        ClusterView planned = PlannedMoves.apply(view, List.of(new Repair.Move("t", 0, List.of(1, 2, 3), List.of(after))));
        Partition partition = planned.topics().get("t").partitions().get(0);
        assertEquals(expected, partition.electable());
        assertEquals(leader, partition.leader());
    }

    @Test
    void aLowerLevelIsReachedWithoutSets() {
        ClusterView view = view("abc", TWO, with(set(1, 2)));
        assertEquals(Electable.NONE, PlannedSettings.atLevel(view, (short) 1).topics().get("t").partitions().get(0).electable());
        assertEquals(set(1, 2), PlannedSettings.atLevel(view, (short) 2).topics().get("t").partitions().get(0).electable());
    }
}
