// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.Loss;
import io.rackspan.prediction.ClusterView.Broker;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Topic;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A reassignment after which an audit finds nothing, or as little as it can. Each partition gets the placement that copies the fewest
 * replicas, which are the fewest bytes as all of its replicas are alike; among these the first replica stays if it can, and brokers
 * with the fewest replicas get the new ones. No replica is added: a topic with one stays in one rack.
 */
final class Repair {

    /** A partition before and after. */
    record Move(String topic, int partition, List<Integer> before, List<Integer> after) {

        /** The replicas that have to be copied. */
        long copies() {
            return after.stream().filter(replica -> !before.contains(replica)).count();
        }
    }

    /** Beyond so many choices for a partition the best one with one replica more than before is kept, and the search continues from there. */
    private static final long CHOICES = 20_000;

    private final ClusterView view;
    private final PlacementAudit audit;
    private final Map<Integer, Integer> load = new HashMap<>();

    Repair(ClusterView view, int minRacks) {
        this.view = view;
        this.audit = new PlacementAudit(view, minRacks);
        for (Topic topic : view.topics().values())
            for (Partition partition : topic.partitions())
                partition.replicas().forEach(replica -> load.merge(replica, 1, Integer::sum));
    }

    List<Move> moves() {
        List<Move> moves = new ArrayList<>();
        for (Topic topic : view.topics().values())
            for (Partition partition : topic.partitions()) {
                List<Integer> better = partition.adding().isEmpty() ? better(topic, partition) : partition.replicas();
                if (!better.equals(partition.replicas())) {
                    moves.add(new Move(topic.name(), partition.index(), partition.replicas(), better));
                    partition.replicas().forEach(replica -> load.merge(replica, -1, Integer::sum));
                    better.forEach(replica -> load.merge(replica, 1, Integer::sum));
                }
            }
        return moves;
    }

    private int findings(Topic topic, Partition partition, List<Integer> replicas) {
        return audit.findings(topic, new Partition(partition.index(), partition.leader(), replicas, replicas, List.of(), List.of())).size();
    }

    /** The replicas with the fewest findings, of those the ones with the fewest copies; the present ones if there are no better. */
    private List<Integer> better(Topic topic, Partition partition) {
        List<Integer> start = partition.replicas();
        List<Integer> best = start;
        int fewest = findings(topic, partition, start);
        for (int copies = 1; copies <= start.size() && fewest > 0; copies++) {
            boolean greedy = choices(start.size(), copies) > CHOICES;
            List<Integer> from = greedy ? best : start;
            List<Integer> found = null;
            for (List<Integer> candidate : candidates(from, greedy ? 1 : copies)) {
                int number = findings(topic, partition, candidate);
                if (number < fewest || found != null && number == fewest && cost(from, candidate) < cost(from, found)) {
                    fewest = number;
                    found = candidate;
                }
            }
            if (found != null)
                best = found;
            else if (greedy)
                break;
        }
        return best;
    }

    /** Prefers the first replica where it is, then brokers that have few replicas. */
    private long cost(List<Integer> before, List<Integer> after) {
        long first = before.get(0).equals(after.get(0)) ? 0 : 1_000_000_000L;
        return first + after.stream().mapToLong(replica -> load.getOrDefault(replica, 0)).sum();
    }

    private long choices(int replicas, int copies) {
        long chosen = 1;
        for (int i = 0; i < copies; i++)
            chosen = chosen * (replicas - i) / (i + 1) * view.racks().size();
        return chosen;
    }

    /** Placements that differ in so many replicas; of the brokers of a rack only the one with the fewest replicas gets one. */
    private List<List<Integer>> candidates(List<Integer> replicas, int copies) {
        Set<List<Integer>> found = new LinkedHashSet<>();
        List<Integer> places = new ArrayList<>();
        for (int place = 0; place < replicas.size(); place++)
            places.add(place);
        for (List<Integer> replaced : Loss.subsets(places, copies))
            fill(replicas, replaced, 0, new ArrayList<>(replicas), found);
        return List.copyOf(found);
    }

    private void fill(List<Integer> before, List<Integer> replaced, int next, List<Integer> after, Set<List<Integer>> found) {
        if (next == replaced.size()) {
            found.add(List.copyOf(after));
            return;
        }
        int place = replaced.get(next);
        for (String rack : view.racks()) {
            Integer broker = least(rack, before, after);
            if (broker == null)
                continue;
            Integer was = after.set(place, broker);
            fill(before, replaced, next + 1, after, found);
            after.set(place, was);
        }
    }

    /** The running broker of a rack that has the fewest replicas and none of this partition, before or after; null if there is none. */
    private Integer least(String rack, List<Integer> before, List<Integer> after) {
        return view.brokers().values().stream().filter(broker -> !broker.fenced() && broker.rack().equals(rack)).map(Broker::id)
            .filter(broker -> !before.contains(broker) && !after.contains(broker))
            .min(Comparator.comparing((Integer broker) -> load.getOrDefault(broker, 0)).thenComparing(broker -> broker)).orElse(null);
    }

    /** The document that kafka-reassign-partitions.sh takes. */
    static Map<String, Object> document(List<Move> moves) {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("version", 1);
        document.put("partitions", moves.stream().map(move -> {
            Map<String, Object> partition = new LinkedHashMap<>();
            partition.put("topic", move.topic);
            partition.put("partition", move.partition);
            partition.put("replicas", move.after);
            return partition;
        }).toList());
        return document;
    }
}
