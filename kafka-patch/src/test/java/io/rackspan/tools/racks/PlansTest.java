// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.Loss;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Topic;
import io.rackspan.prediction.ClusterView.Voter;
import io.rackspan.tools.racks.PlacementAudit.Finding;
import io.rackspan.tools.racks.PlacementAudit.Kind;
import io.rackspan.tools.racks.PlacementAudit.Share;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.Set;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

/** What is read from arguments: losses and settings; and the audit of placements. */
final class PlansTest {

    private static final Partition SPREAD = Views.partition(List.of(1, 2, 3));

    private static String refusal(ClusterView view, String lost) {
        return assertThrows(UsageException.class, () -> LossOption.parse(view, lost, false)).getMessage();
    }

    @Test
    void racksAndBrokersAreRead() throws UsageException {
        ClusterView view = Views.of("abb2");
        assertEquals(Set.of(2, 3), LossOption.parse(view, "b", false).brokers());
        assertEquals(Set.of(1, 4), LossOption.parse(view, "rack:2, 1", false).brokers());
        assertEquals(Set.of(2), LossOption.parse(view, "broker:2", false).brokers());
        assertEquals("'2' is a rack and a broker. Write rack:2 or broker:2.", refusal(view, "2"));
        assertEquals("'d' is neither a rack nor a registered broker. Racks: 2, a, b; brokers: [1, 2, 3, 4].", refusal(view, "a,d"));
        assertEquals("'' is neither a rack nor a registered broker. Racks: 2, a, b; brokers: [1, 2, 3, 4].", refusal(view, ""));
    }

    @Test
    void eachRackAndEachPairIsLost() {
        assertEquals(3, Loss.ofEach(Views.of("abbc"), 1, false).size());
        assertEquals(List.of(Set.of(1, 2), Set.of(1, 3), Set.of(2, 3)), Loss.ofEach(Views.of("abc"), 2, true).stream().map(Loss::brokers).toList());
    }

    @Test
    void settingsAreReadOrRefusedWithWhatTheyMayBe() throws UsageException {
        assertEquals(Map.of(Views.MIN_RACKS, "2"), PlannedSettings.parse(List.of("min.insync.racks=2")));
        for (String wrong : List.of("retention.ms=1", "min.insync.racks", "min.insync.racks=0", "unclean.leader.election.enable=yes"))
            assertThrows(UsageException.class, () -> PlannedSettings.parse(List.of(wrong)), wrong);
        assertEquals("'min.insync.racks=x' is no value of that setting: it must be an integer of at least 1.",
            assertThrows(UsageException.class, () -> PlannedSettings.parse(List.of("min.insync.racks=x"))).getMessage());
    }

    @Test
    void aPlannedValueIsThatOfTheTopicsOrTheDefaultOfTheOthers() throws UsageException {
        ClusterView view = Views.of("abc", Views.topic("own", Map.of(Views.MIN_RACKS, "1"), SPREAD), Views.topic("other", Map.of(), SPREAD));
        Map<String, String> three = Map.of(Views.MIN_RACKS, "3");
        assertEquals(List.of(3, 1), minRacks(PlannedSettings.apply(view, three, null)));
        assertEquals(List.of(1, 3), minRacks(PlannedSettings.apply(view, three, List.of("own"))));
        ClusterView level0 = PlannedSettings.atLevel(view, (short) 0);
        assertThrows(UsageException.class, () -> PlannedSettings.apply(level0, three, null));
    }

    private static List<Integer> minRacks(ClusterView view) {
        return view.topics().values().stream().map(topic -> view.settings(topic).minRacks()).toList();
    }

    @Test
    void aChangedMinimumClearsEligibleReplicasOfPartitionsThatHaveALeader() throws UsageException {
        Partition led = new Partition(0, 1, List.of(1, 2), List.of(1), List.of(2), List.of());
        Partition waiting = new Partition(1, -1, List.of(1, 2), List.of(), List.of(2), List.of());
        ClusterView view = Views.of("ab", Views.topic("t", Map.of(Views.MIN_REPLICAS, "2"), led, waiting));
        assertEquals(List.of(List.of(), List.of(2)), elrs(PlannedSettings.apply(view, Map.of(Views.MIN_REPLICAS, "1"), List.of("t"))));
        assertEquals(List.of(List.of(2), List.of(2)), elrs(PlannedSettings.apply(view, Map.of(Views.MIN_REPLICAS, "2"), List.of("t"))));
        ClusterView level0 = PlannedSettings.atLevel(view, (short) 0);
        assertEquals(List.of(List.of(), List.of()), elrs(PlannedSettings.apply(level0, Map.of(Views.MIN_REPLICAS, "1"), List.of("t"))));
    }

    private static List<List<Integer>> elrs(ClusterView view) {
        return view.topics().get("t").partitions().stream().map(Partition::elr).toList();
    }

    @Test
    void placementsAreAuditedWhateverIsInSync() {
        Topic topic = Views.topic("t", Map.of(Views.MIN_REPLICAS, "2"), Views.partition(List.of(1, 2, 3), 1));
        assertEquals(List.of(), new PlacementAudit(Views.of("abc", topic), 3).findings());
        assertEquals(List.of(Kind.RACK_HOLDS_QUORUM, Kind.RACK_STOPS_WRITES), kinds(Views.of("aab", topic), 2));
        assertEquals(List.of(Kind.TOO_FEW_RACKS, Kind.RACK_HOLDS_QUORUM, Kind.RACK_STOPS_WRITES), kinds(Views.of("aaa", topic), 2));
        assertEquals(List.of(Kind.UNREGISTERED_BROKER), kinds(Views.of("ab", topic), 2).subList(0, 1));
        assertEquals(List.of(Kind.CANNOT_BE_MET), kinds(Views.of("abc", Views.topic("t", Map.of(Views.MIN_REPLICAS, "4"), SPREAD)), 2));
        assertEquals(List.of(Kind.TOO_FEW_RACKS, Kind.CANNOT_BE_MET), kinds(Views.of("abcd", Views.topic("t", Map.of(Views.MIN_RACKS, "4"), SPREAD)), 2));
    }

    private static List<Kind> kinds(ClusterView view, int minRacks) {
        return new PlacementAudit(view, minRacks).findings().stream().map(Finding::kind).toList();
    }

    @Test
    void leadersAndReplicasAreCountedByRack() {
        ClusterView view = Views.of(1, true, "aab", List.of(new Voter(9, "x", true)), Views.topic("t", Map.of(), Views.partition(List.of(3, 1), 1, 3)));
        assertEquals(Map.of("a", new Share(2, 1, 1, 0), "b", new Share(1, 1, 0, 1)), new PlacementAudit(view, 2).shares());
    }
}
