// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.Loss;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Topic;
import io.rackspan.tools.racks.PlacementAudit.Kind;
import io.rackspan.tools.racks.Repair.Move;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

final class RepairTest {

    private static final int CASES = 3_000;

    @Test
    void oneReplicaIsMovedAndTheFirstOneStays() {
        ClusterView view = Views.of("aab", Views.topic("t", Map.of(), Views.partition(List.of(1, 2))));
        List<Move> moves = new Repair(view, 2).moves();
        assertEquals(List.of(new Move("t", 0, List.of(1, 2), List.of(1, 3))), moves);
        assertEquals(1, moves.get(0).copies());
        assertEquals(List.of(), new PlacementAudit(PlannedMoves.apply(view, moves), 2).findings());
    }

    @Test
    void copiesGoToBrokersThatHaveFewReplicas() {
        Topic[] topics = new Topic[4];
        for (int i = 0; i < topics.length; i++)
            topics[i] = Views.topic("t" + i, Map.of(), Views.partition(List.of(1, 2)));
        List<Move> moves = new Repair(Views.of("aabb", topics), 2).moves();
        assertEquals(List.of(3, 4, 3, 4), moves.stream().map(move -> move.after().get(1)).toList());
    }

    @Test
    void aFencedBrokerGetsNoneAndOneThatIsNotRegisteredLosesIts() {
        ClusterView fenced = Views.of("aaB", Views.topic("t", Map.of(), Views.partition(List.of(1, 2))));
        assertEquals(List.of(), new Repair(fenced, 2).moves());
        ClusterView gone = Views.of("abc", Views.topic("t", Map.of(), Views.partition(List.of(1, 9))));
        assertEquals(List.of(1, 2), new Repair(gone, 2).moves().get(0).after());
    }

    @Test
    void whatMovesAlreadyIsLeftAlone() {
        Partition moving = new Partition(0, 1, List.of(1, 2), List.of(1, 2), List.of(), List.of(2));
        assertEquals(List.of(), new Repair(Views.of("aab", Views.topic("t", Map.of(), moving)), 2).moves());
    }

    @Test
    void theDocumentIsThatOfTheReassignmentTool() {
        assertEquals(Map.of("version", 1, "partitions", List.of(Map.of("topic", "t", "partition", 0, "replicas", List.of(1, 3)))),
            Repair.document(List.of(new Move("t", 0, List.of(1, 2), List.of(1, 3)))));
    }

    /** All placements of small clusters are tried: none has fewer findings, and none with as few copies fewer replicas. */
    @Test
    void noPlacementIsBetter() {
        int repaired = 0;
        for (long seed = 0; seed < CASES; seed++) {
            Random random = new Random(seed);
            StringBuilder racks = new StringBuilder();
            int brokers = 2 + random.nextInt(5);
            for (int i = 0; i < brokers; i++)
                racks.append((char) ((random.nextInt(8) == 0 ? 'A' : 'a') + random.nextInt(3)));
            List<Integer> all = new ArrayList<>();
            for (int id = 1; id <= brokers; id++)
                all.add(id);
            Collections.shuffle(all, random);
            List<Integer> replicas = List.copyOf(all.subList(0, 1 + random.nextInt(Math.min(4, brokers))));
            Map<String, String> own = Map.of(Views.MIN_REPLICAS, String.valueOf(1 + random.nextInt(3)), Views.MIN_RACKS, String.valueOf(1 + random.nextInt(3)));
            ClusterView view = Views.of(racks.toString(), Views.topic("t", own, Views.partition(replicas)));
            PlacementAudit audit = new PlacementAudit(view, 2);
            List<Move> moves = new Repair(view, 2).moves();
            List<Integer> after = moves.isEmpty() ? replicas : moves.get(0).after();
            long[] found = score(audit, view, replicas, after);
            for (List<Integer> other : Loss.subsets(new TreeSet<>(all), replicas.size()))
                if (other.stream().allMatch(id -> replicas.contains(id) || view.isAlive(id))) {
                    long[] score = score(audit, view, replicas, other);
                    assertTrue(found[0] < score[0] || found[0] == score[0] && found[1] <= score[1],
                        "seed " + seed + ": " + replicas + " in " + racks + " " + own + " became " + after + ", " + other + " is better");
                }
            if (!moves.isEmpty())
                repaired++;
        }
        assertTrue(repaired > CASES / 20, repaired + " repaired");
    }

    private static long[] score(PlacementAudit audit, ClusterView view, List<Integer> before, List<Integer> after) {
        Topic topic = view.topics().get("t");
        return new long[] {audit.findings(topic, Views.partition(after)).size(), new Move("t", 0, before, after).copies()};
    }

    @Test
    void aPlacementThatWillDoIsKept() {
        ClusterView view = Views.of("abc", Views.topic("t", Map.of(Views.MIN_REPLICAS, "2"), Views.partition(List.of(1, 2, 3))));
        assertEquals(List.of(), new Repair(view, 3).moves());
        assertEquals(Kind.RACK_STOPS_WRITES, new PlacementAudit(Views.of("ab", Views.topic("t", Map.of(Views.MIN_REPLICAS, "2"),
            Views.partition(List.of(1, 2)))), 2).findings().get(0).kind());
    }
}
