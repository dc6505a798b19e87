// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.tools.racks.ClusterView.Partition;
import io.rackspan.tools.racks.ClusterView.Topic;
import io.rackspan.tools.racks.ClusterView.Voter;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

import static org.junit.jupiter.api.Assertions.assertEquals;

final class RackFailuresTest {

    private static RackFailures of(String racks, Map<String, String> own, Partition partition) {
        Topic topic = Views.topic("t", own, partition);
        return RackFailures.of(new RackFailures.Losses(Views.of(racks, topic)), topic, partition);
    }

    @Test
    void availabilityEndsWithTheSettingsAndDataWithTheLastReplica() {
        Partition spread = Views.partition(List.of(1, 2, 3));
        assertEquals(new RackFailures(1, 2), of("abc", Map.of(Views.MIN_REPLICAS, "2"), spread));
        assertEquals(new RackFailures(0, 2), of("abc", Map.of(Views.MIN_REPLICAS, "3"), spread));
        assertEquals(new RackFailures(2, 2), of("abc", Map.of(), spread));
        assertEquals(new RackFailures(0, 0), of("aab", Map.of(), Views.partition(List.of(1, 2))));
    }

    @Test
    void whatIsOutOfSyncIsNoHelp() {
        assertEquals(new RackFailures(0, 1), of("abc", Map.of(Views.MIN_REPLICAS, "2"), Views.partition(List.of(1, 2, 3), 1, 2)));
        assertEquals(new RackFailures(-1, 0), of("abc", Map.of(Views.MIN_REPLICAS, "2"), Views.partition(List.of(1, 2, 3), 1)));
    }

    @Test
    void theWorstChoiceOfRacksCounts() {
        Map<String, String> own = Map.of(Views.MIN_REPLICAS, "2", Views.MIN_RACKS, "2");
        assertEquals(new RackFailures(1, 2), of("aabbc", own, Views.partition(List.of(1, 2, 3, 4, 5))));
        assertEquals(new RackFailures(0, 1), of("aabbc", own, Views.partition(List.of(1, 2, 3, 4))));
    }

    @Test
    void controllersBearTheLossOfAMinorityOfThem() {
        List<Voter> spread = List.of(new Voter(1, "a", true), new Voter(2, "b", true), new Voter(3, "c", true));
        assertEquals(1, RackFailures.ofQuorum(Views.of(1, true, "abc", spread)));
        List<Voter> together = List.of(new Voter(1, "a", true), new Voter(2, "a", true), new Voter(3, "c", true));
        assertEquals(0, RackFailures.ofQuorum(Views.of(1, true, "abc", together)));
        List<Voter> unknown = List.of(new Voter(100, null, true), new Voter(101, "a", true), new Voter(102, "b", true));
        assertEquals(0, RackFailures.ofQuorum(Views.of(1, true, "abc", unknown)));
    }
}
