// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.Loss;
import io.rackspan.prediction.Predictor;
import io.rackspan.prediction.Prediction;
import io.rackspan.prediction.Verdict;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Topic;
import io.rackspan.prediction.ClusterView.Voter;
import io.rackspan.prediction.LeaderRule.Refusal;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

import static io.rackspan.prediction.Verdict.NO;
import static io.rackspan.prediction.Verdict.UNKNOWN;
import static io.rackspan.prediction.Verdict.YES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

final class PredictorTest {

    private static final Map<String, String> TWO = Map.of(Views.MIN_REPLICAS, "2");
    private static final Map<String, String> TWO_RACKS = Map.of(Views.MIN_REPLICAS, "2", Views.MIN_RACKS, "2");

    private static ClusterView one(String racks, Map<String, String> own, Partition partition) {
        return Views.of(racks, Views.topic("t", own, partition));
    }

    private static void assertAnswers(Prediction p, Verdict writable, Verdict readable, Verdict electable, Verdict safe) {
        assertEquals(List.of(writable, readable, electable, safe), List.of(p.writable(), p.readable(), p.electable(), p.safe()), p.toString());
    }

    @Test
    void threeReplicasInThreeRacksBearTheLossOfTheLeadersRack() throws UsageException {
        Prediction p = Views.without(one("abc", TWO_RACKS, Views.partition(List.of(1, 2, 3))), "a", true);
        assertAnswers(p, YES, YES, YES, YES);
        assertEquals(2, p.leader());
        assertEquals(List.of(2, 3), p.isr());
        assertEquals("", p.reason());
    }

    @Test
    void twoReplicasOfWhichBothAreRequiredRefuseWithoutOne() throws UsageException {
        Prediction p = Views.without(one("ab", TWO, Views.partition(List.of(1, 2))), "b", true);
        assertAnswers(p, NO, YES, YES, YES);
        assertEquals(Refusal.NOT_ENOUGH_REPLICAS, p.refusal());
        assertEquals("1 replica(s) in sync [1], min.insync.replicas is 2", p.reason());
        assertEquals(YES, p.writableOne());
        assertEquals(NO, p.visible());
    }

    @Test
    void enoughReplicasInOneRackAreRefusedWhereTwoAreRequired() throws UsageException {
        Prediction p = Views.without(one("aabb", TWO_RACKS, Views.partition(List.of(1, 2, 3, 4))), "rack:b", false);
        assertAnswers(p, NO, YES, YES, YES);
        assertEquals(Refusal.NOT_ENOUGH_RACKS, p.refusal());
        assertEquals("in-sync replicas [1, 2] are in 1 rack(s) [a], min.insync.racks is 2", p.reason());
    }

    @Test
    void theOnlyReplicaIsLostWithItsRackButItsRecordsOnlyWithItsDisk() throws UsageException {
        ClusterView view = one("ab", Map.of(), Views.partition(List.of(1)));
        assertAnswers(Views.without(view, "a", false), NO, NO, NO, YES);
        assertAnswers(Views.without(view, "a", true), NO, NO, NO, NO);
        assertAnswers(Views.without(view, "b", true), YES, YES, YES, YES);
    }

    @Test
    void aReplicaThatIsNotInSyncHelpsNobody() throws UsageException {
        Prediction p = Views.without(one("abc", TWO, Views.partition(List.of(1, 2, 3), 1, 2)), "b", false);
        assertAnswers(p, NO, YES, YES, YES);
        assertAnswers(Views.without(one("abc", TWO, Views.partition(List.of(1, 2, 3), 1)), "a", true), NO, NO, NO, NO);
    }

    @Test
    void anEligibleReplicaLeadsWhenNoneIsInSync() throws UsageException {
        Partition partition = new Partition(0, 1, List.of(1, 2, 3), List.of(1), List.of(3), List.of());
        Prediction p = Views.without(one("abc", TWO, partition), "a", true);
        assertAnswers(p, NO, YES, YES, YES);
        assertEquals(3, p.leader());
        assertAnswers(Views.without(Views.of(0, false, "abc", List.of(new Voter(9, "x", true)), Views.topic("t", TWO, partition)), "a", true), NO, NO, NO, NO);
    }

    @Test
    void eligibleReplicasOfAnIsrThatSufficesDoNotCount() throws UsageException {
        Partition partition = new Partition(0, 1, List.of(1, 2, 3), List.of(1), List.of(3), List.of());
        assertAnswers(Views.without(one("abc", Map.of(), partition), "a", true), NO, NO, NO, NO);
    }

    @Test
    void whatIsInReplicasThatAreDownAlreadyIsNotKnown() throws UsageException {
        Partition partition = new Partition(0, 1, List.of(1, 2), List.of(1), List.of(2), List.of());
        Prediction p = Views.without(one("aB", TWO, partition), "a", true);
        assertAnswers(p, NO, NO, NO, UNKNOWN);
        assertTrue(p.reason().endsWith("acknowledged records may be in [2] only, which are down"), p.reason());
    }

    @Test
    void anUncleanElectionServesAndIsNotSafe() throws UsageException {
        Map<String, String> own = Map.of("unclean.leader.election.enable", "true");
        Prediction p = Views.without(one("ab", own, Views.partition(List.of(1, 2), 1)), "a", false);
        assertAnswers(p, YES, YES, NO, NO);
        assertEquals(2, p.leader());
    }

    @Test
    void aValueThatCanNeverBeMetIsRefusedWithoutAnyLoss() throws UsageException {
        Map<String, String> own = Map.of(Views.MIN_REPLICAS, "3");
        Partition partition = Views.partition(List.of(1, 2));
        assertEquals(Refusal.INCONSISTENT_REPLICA_CONFIGURATION, Views.without(one("abc", own, partition), "c", false).refusal());
        Map<String, String> clamped = Map.of(Views.MIN_REPLICAS, "3", "min.insync.replicas.inconsistent.action", "clamp");
        assertNull(Views.without(one("abc", clamped, partition), "c", false).refusal());
        assertNull(Views.without(Views.of(0, true, "abc", List.of(new Voter(9, "x", true)), Views.topic("t", own, partition)), "c", false).refusal());
    }

    @Test
    void racksDoNotCountAtLevel0() throws UsageException {
        ClusterView view = Views.of(0, true, "aab", List.of(new Voter(9, "x", true)), Views.topic("t", TWO_RACKS, Views.partition(List.of(1, 2, 3))));
        Prediction p = Views.without(view, "b", false);
        assertAnswers(p, YES, YES, YES, YES);
        assertEquals(NO, p.writableFew());
    }

    @Test
    void internalTopicsRequireNoMoreRacksThanTheyHave() throws UsageException {
        Topic internal = Views.topic("__consumer_offsets", Map.of(Views.MIN_RACKS, "3"), Views.partition(List.of(1, 2)));
        assertNull(Views.without(Views.of("abc", internal), "c", false).refusal());
        assertEquals(Refusal.NOT_ENOUGH_RACKS, Views.without(Views.of("abc", internal), "b", false).refusal());
    }

    @Test
    void brokersWithoutRackShareOneAndUnregisteredOnesAreInNone() {
        ClusterView view = one("ab", TWO_RACKS, Views.partition(List.of(1, 7)));
        assertNull(view.rackOf(7));
        Topic topic = view.topics().get("t");
        Prediction p = Predictor.now(view, topic, topic.partitions().get(0));
        assertEquals(Refusal.NOT_ENOUGH_REPLICAS, p.refusal());
        // It is not registered and may turn out to be in another rack, so that this is no mistake for good
        assertEquals(List.of(1), p.isr());
    }

    @Test
    void fewerAcksArePromisedNothing() throws UsageException {
        ClusterView view = one("abc", TWO_RACKS, Views.partition(List.of(1, 2, 3)));
        assertEquals(UNKNOWN, Views.without(view, "a", true).safeFew());
        Map<String, String> scope = Map.of(Views.MIN_REPLICAS, "2", "acks.all.scope", "min.insync.replicas");
        Prediction p = Views.without(one("abc", scope, Views.partition(List.of(1, 2, 3))), "a", true);
        assertEquals(UNKNOWN, p.safe());
        assertEquals(YES, p.writable());
    }

    @Test
    void withoutAQuorumNothingMovesAndAcksAllWaitsForTheLost() throws UsageException {
        List<Voter> voters = List.of(new Voter(1, "a", true), new Voter(2, "b", true), new Voter(3, "b", true));
        ClusterView view = Views.of(1, true, "abbc", voters, Views.topic("t", TWO_RACKS, Views.partition(List.of(1, 2, 4))));
        Prediction p = Views.without(view, "b", false);
        assertAnswers(p, NO, YES, YES, YES);
        assertEquals(YES, p.writableFew());
        ClusterView led = Views.of(1, true, "abbc", voters, Views.topic("t", TWO_RACKS, Views.partition(List.of(2, 1, 4))));
        assertAnswers(Views.without(led, "b", false), NO, NO, NO, YES);
    }

    @Test
    void aQuorumThatMayBeLostMakesWhatDependsOnItUnknown() throws UsageException {
        List<Voter> voters = List.of(new Voter(100, null, true));
        ClusterView view = Views.of(1, true, "abc", voters, Views.topic("t", TWO, Views.partition(List.of(1, 2, 3))));
        assertAnswers(Views.without(view, "a", false), UNKNOWN, UNKNOWN, UNKNOWN, YES);
        assertAnswers(Views.without(view, "broker:1", false), YES, YES, YES, YES);
        ClusterView elsewhere = Views.of(1, true, "abcd", voters, Views.topic("t", TWO, Views.partition(List.of(1, 2, 3))));
        assertAnswers(Views.without(elsewhere, "d", false), YES, YES, YES, YES);
    }

    @Test
    void aPartitionThatHasNoLeaderAlthoughOneMayLeadIsNotUnderstood() {
        Partition partition = new Partition(0, -1, List.of(1, 2), List.of(1), List.of(), List.of());
        ClusterView view = one("ab", Map.of(), partition);
        Prediction p = Predictor.now(view, view.topics().get("t"), partition);
        assertAnswers(p, UNKNOWN, UNKNOWN, UNKNOWN, YES);
        assertEquals("no leader now, although [1] may lead: why is not known", p.reason());
    }

    @Test
    void aPartitionWithFewerReplicasThanPartition0MayElectOneThatLacksRecords() throws UsageException {
        Partition first = Views.partition(List.of(1, 2, 3));
        Partition second = new Partition(1, 1, List.of(1, 2), List.of(1), List.of(2), List.of());
        Map<String, String> own = Map.of(Views.MIN_REPLICAS, "2", "min.insync.replicas.inconsistent.action", "clamp");
        Topic topic = Views.topic("t", own, first, new Partition(1, 1, List.of(1), List.of(1), List.of(), List.of()));
        ClusterView view = Views.of("abc", topic);
        assertEquals(NO, Predictor.predict(view, topic, topic.partitions().get(1), LossOption.parse(view, "a", true), YES).safe());
        assertEquals(YES, Predictor.predict(view, topic, second, LossOption.parse(view, "a", true), YES).safe());
    }
}
