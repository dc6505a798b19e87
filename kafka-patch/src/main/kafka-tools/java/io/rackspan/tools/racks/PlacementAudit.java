// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.LeaderRule;
import io.rackspan.prediction.Loss;
import io.rackspan.metadata.InternalTopics;
import io.rackspan.prediction.ClusterView.Broker;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Settings;
import io.rackspan.prediction.ClusterView.Topic;
import io.rackspan.prediction.LeaderRule.Refusal;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Looks for replicas that are placed in too few racks, whatever is in sync at the moment. */
final class PlacementAudit {

    /** What may be wrong with a placement. */
    enum Kind {
        /** A replica is on a broker that is not registered. */
        UNREGISTERED_BROKER,
        /** The replicas are in fewer racks than required. */
        TOO_FEW_RACKS,
        /** The replicas can never meet the topic's own settings, so that writes with acks=all are refused. */
        CANNOT_BE_MET,
        /** One rack has as many replicas as acks=all requires: an acknowledgement may be in that rack only. */
        RACK_HOLDS_QUORUM,
        /** Without one rack, all others being in sync, writes with acks=all are refused. */
        RACK_STOPS_WRITES
    }

    record Finding(Kind kind, String topic, int partition, List<Integer> replicas, String text) { }

    /** Leaders and replicas in a rack. */
    record Share(int brokers, int replicas, int leaders, int preferredLeaders) {

        private Share plus(Share other) {
            return new Share(brokers + other.brokers, replicas + other.replicas, leaders + other.leaders, preferredLeaders + other.preferredLeaders);
        }
    }

    private final ClusterView view;
    private final int minRacks;

    /** @param minRacks the racks that every partition must be in, if its topic does not require more */
    PlacementAudit(ClusterView view, int minRacks) {
        this.view = view;
        this.minRacks = minRacks;
    }

    List<Finding> findings() {
        List<Finding> found = new ArrayList<>();
        for (Topic topic : view.topics().values())
            for (Partition partition : topic.partitions())
                found.addAll(findings(topic, partition));
        return found;
    }

    List<Finding> findings(Topic topic, Partition partition) {
        List<Finding> found = new ArrayList<>();
        Settings settings = view.settings(topic);
        // Added replicas count when a reassignment ends, and removed ones do not: what it will be is not known here.
        List<Integer> replicas = partition.replicas();
        LeaderRule rule = new LeaderRule(view, topic, partition);
        List<Integer> unregistered = replicas.stream().filter(replica -> view.rackOf(replica) == null).toList();
        if (!unregistered.isEmpty())
            add(found, Kind.UNREGISTERED_BROKER, topic, partition, "brokers " + unregistered + " are not registered");
        int span = view.span(replicas);
        int required = Math.max(minRacks, settings.minRacks());
        if (span < required)
            add(found, Kind.TOO_FEW_RACKS, topic, partition, "in " + span + " rack(s) [" + Loss.words(view.racksOf(replicas)) + "] of " + required);
        Refusal refusal = rule.refusal(replicas);
        if (refusal != null) {
            add(found, Kind.CANNOT_BE_MET, topic, partition, "acks=all is refused (" + refusal + "): min.insync.replicas is " + settings.minReplicas() +
                ", min.insync.racks is " + settings.minRacks());
            return found;
        }
        for (String rack : view.racksOf(replicas)) {
            List<Integer> inside = replicas.stream().filter(replica -> rack.equals(view.rackOf(replica))).toList();
            List<Integer> outside = replicas.stream().filter(replica -> !rack.equals(view.rackOf(replica))).toList();
            if (settings.minRacks() < 2 && inside.size() >= Math.max(2, rule.minReplicas()))
                add(found, Kind.RACK_HOLDS_QUORUM, topic, partition, inside + " are in rack " + Loss.words(view.racksOf(inside)) +
                    ": an acknowledgement may be there only, as min.insync.replicas is " + rule.minReplicas() + " and min.insync.racks is 1");
            if (outside.isEmpty() || rule.refusal(outside) != null)
                add(found, Kind.RACK_STOPS_WRITES, topic, partition, "without rack " + Loss.words(view.racksOf(inside)) +
                    (outside.isEmpty() ? " no replica is left" : " acks=all is refused (" + rule.refusal(outside) + ")"));
        }
        return found;
    }

    private static void add(List<Finding> found, Kind kind, Topic topic, Partition partition, String text) {
        found.add(new Finding(kind, topic.name(), partition.index(), partition.replicas(), text + (InternalTopics.contains(topic.name()) ? " (internal topic)" : "")));
    }

    /** Brokers, replicas and leaders by rack; brokers that are not registered are in none. */
    Map<String, Share> shares() {
        Map<String, Share> found = new TreeMap<>();
        for (Broker broker : view.brokers().values())
            found.merge(broker.rack(), new Share(1, 0, 0, 0), Share::plus);
        for (Topic topic : view.topics().values())
            for (Partition partition : topic.partitions())
                for (int replica : partition.replicas())
                    if (view.rackOf(replica) != null)
                        found.merge(view.rackOf(replica), new Share(0, 1, replica == partition.leader() ? 1 : 0,
                            replica == partition.replicas().get(0) ? 1 : 0), Share::plus);
        return found;
    }
}
