// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.Loss;
import io.rackspan.prediction.Predictor;
import io.rackspan.prediction.Prediction;
import io.rackspan.prediction.Quorum;
import io.rackspan.prediction.ClusterView.Broker;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Topic;
import io.rackspan.prediction.ClusterView.Voter;

import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.IntStream;

/** Small clusters for tests: a letter of a string is the rack of the broker with that number, from 1 on; a capital one is fenced. */
final class Views {

    static final String MIN_REPLICAS = "min.insync.replicas";
    static final String MIN_RACKS = "min.insync.racks";

    private Views() {
    }

    static ClusterView of(String racks, Topic... topics) {
        return of(1, true, racks, List.of(new Voter(100, "x", true)), topics);
    }

    static ClusterView of(int level, boolean elr, String racks, List<Voter> voters, Topic... topics) {
        SortedMap<Integer, Broker> brokers = new TreeMap<>();
        IntStream.range(0, racks.length()).forEach(i -> brokers.put(i + 1,
            new Broker(i + 1, racks.substring(i, i + 1).toLowerCase(), Character.isUpperCase(racks.charAt(i)))));
        SortedMap<String, Topic> named = new TreeMap<>();
        for (Topic topic : topics)
            named.put(topic.name(), topic);
        return new ClusterView((short) level, elr, brokers, Map.of(), named, voters);
    }

    static Topic topic(String name, Map<String, String> own, Partition... partitions) {
        return new Topic(name, own, List.of(partitions));
    }

    /** A partition whose replicas are all in sync, or those that are given. */
    static Partition partition(List<Integer> replicas, Integer... isr) {
        List<Integer> inSync = isr.length == 0 ? replicas : List.of(isr);
        return new Partition(0, inSync.get(0), replicas, inSync, List.of(), List.of());
    }

    static Prediction without(ClusterView view, String lost, boolean unclean) throws UsageException {
        Topic topic = view.topics().values().iterator().next();
        Loss loss = LossOption.parse(view, lost, unclean);
        return Predictor.predict(view, topic, topic.partitions().get(0), loss, Quorum.after(view, loss));
    }
}
