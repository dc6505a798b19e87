// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.Loss;
import io.rackspan.prediction.Verdict;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Topic;
import io.rackspan.prediction.ClusterView.Voter;
import io.rackspan.tools.racks.StopCheck.Obstacle;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

final class StopCheckTest {

    private static final Map<String, String> TWO = Map.of(Views.MIN_REPLICAS, "2");

    private static List<Obstacle> obstacles(ClusterView view, Integer... brokers) {
        return StopCheck.obstacles(view, Loss.ofBrokers(List.of(brokers)));
    }

    private static ClusterView one(Map<String, String> own, Partition partition) {
        return Views.of("abc", Views.topic("t", own, partition));
    }

    @Test
    void aReplicaThatCanBeSparedMayStop() {
        assertEquals(List.of(), obstacles(one(TWO, Views.partition(List.of(1, 2, 3))), 1));
    }

    @Test
    void aReplicaThatIsRequiredMayStopWhenAnotherOneIsInSync() {
        ClusterView view = one(TWO, Views.partition(List.of(1, 2, 3), 1, 2));
        List<Obstacle> found = obstacles(view, 2);
        assertEquals(List.of(new Obstacle("t", 0, Verdict.NO, "1 replica(s) in sync [1], min.insync.replicas is 2", List.of(3))), found);
        assertTrue(OkToStopVerb.mayWait(found));
        assertEquals(List.of(), obstacles(view, 3));
    }

    @Test
    void waitingDoesNotHelpWhereThereAreNoOtherReplicas() {
        List<Obstacle> found = obstacles(one(TWO, Views.partition(List.of(1, 2))), 1);
        assertEquals(Verdict.NO, StopCheck.verdict(found));
        assertEquals(List.of(), found.get(0).waitFor());
        assertFalse(OkToStopVerb.mayWait(found));
        assertEquals(Verdict.NO, StopCheck.verdict(obstacles(one(Map.of(), Views.partition(List.of(1))), 1)));
    }

    @Test
    void aPartitionThatRefusesAlreadyWaitsForItsInSyncReplicas() {
        ClusterView view = one(Map.of(Views.MIN_REPLICAS, "3"), Views.partition(List.of(1, 2, 3), 1, 2));
        assertEquals(Verdict.NO, StopCheck.verdict(obstacles(view, 1)));
        assertEquals(List.of(), obstacles(view, 3));
    }

    @Test
    void whatCanNeverBeMetIsNoObstacle() {
        assertEquals(List.of(), obstacles(one(Map.of(Views.MIN_REPLICAS, "4"), Views.partition(List.of(1, 2, 3))), 1));
        assertEquals(Verdict.NO, StopCheck.verdict(obstacles(one(Map.of(Views.MIN_REPLICAS, "4"), Views.partition(List.of(1))), 1)));
    }

    @Test
    void aMajorityOfControllersHasToBeLeft() {
        List<Voter> voters = List.of(new Voter(1, "a", true), new Voter(2, "b", true), new Voter(3, "c", false));
        Topic topic = Views.topic("t", Map.of(), Views.partition(List.of(2, 3)));
        ClusterView view = Views.of(1, true, "abc", voters, topic);
        List<Obstacle> found = obstacles(view, 1);
        assertEquals(List.of(new Obstacle(null, -1, Verdict.NO, "no quorum of controllers would be left", List.of(3))), found);
        assertTrue(OkToStopVerb.mayWait(found));
        List<Obstacle> two = obstacles(view, 1, 2);
        assertEquals(List.of(), two.get(0).waitFor());
        assertFalse(OkToStopVerb.mayWait(two));
        ClusterView apart = Views.of(1, true, "abc", List.of(new Voter(100, null, true)), topic);
        assertEquals(List.of(), obstacles(apart, 1));
        assertEquals(Verdict.UNKNOWN, StopCheck.verdict(StopCheck.obstacles(apart, Loss.ofRacks(apart, List.of("a"), false))));
    }
}
