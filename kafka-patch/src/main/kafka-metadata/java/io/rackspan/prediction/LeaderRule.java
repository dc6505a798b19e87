// SPDX-License-Identifier: Apache-2.0
package io.rackspan.prediction;

import io.rackspan.common.RackspanVersion;
import io.rackspan.metadata.EligibleSpan;
import io.rackspan.metadata.InternalTopics;
import io.rackspan.protocol.Racks;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Settings;
import io.rackspan.prediction.ClusterView.Topic;

import java.util.Collection;

/**
 * The rules of a leader on one partition, as a pure function: does it take a client's write with acks=all, does its high watermark
 * move, may the controller forget eligible replicas. Racks are compared by {@link EligibleSpan}, which the controller uses; the gates of writes are those of
 * io.rackspan.cluster.ConsistencyGate and RackSpan, whose methods are bound to the state of a broker.
 */
public final class LeaderRule {

    /** The errors that a write with acks=all or acks=min.insync.replicas may end with, as clients of this distribution get them. */
    public enum Refusal {
        INCONSISTENT_REPLICA_CONFIGURATION, NOT_ENOUGH_REPLICAS, NOT_ENOUGH_RACKS
    }

    private final ClusterView view;
    private final Topic topic;
    private final Partition partition;
    private final Settings settings;

    public LeaderRule(ClusterView view, Topic topic, Partition partition) {
        this.view = view;
        this.topic = topic;
        this.partition = partition;
        this.settings = view.settings(topic);
    }

    /** The min.insync.replicas that counts: no more than there are replicas. */
    public int minReplicas() {
        return Math.min(settings.minReplicas(), partition.replicas().size());
    }

    /** The refusal of a client's write with these replicas in sync, the first that a leader finds; null if it takes the write. */
    public Refusal refusal(Collection<Integer> isr) {
        boolean internal = InternalTopics.contains(topic.name());
        int minRacks = settings.minRacks();
        if (view.level() > 0 && !internal) {
            if (settings.minReplicas() > partition.replicas().size() && !settings.clamped())
                return Refusal.INCONSISTENT_REPLICA_CONFIGURATION;
            if (minRacks > 1 && view.span(partition.replicas()) < minRacks && partition.replicas().stream().map(view::rackOf).allMatch(Racks::isNamed))
                return Refusal.INCONSISTENT_REPLICA_CONFIGURATION;
        }
        if (isr.size() < minReplicas())
            return Refusal.NOT_ENOUGH_REPLICAS;
        boolean tooFewRacks = internal ? !spans(isr) : minRacks > 1 && view.span(isr) < minRacks;
        return tooFewRacks ? Refusal.NOT_ENOUGH_RACKS : null;
    }

    /** True if the high watermark moves with these replicas in sync. */
    public boolean movesHighWatermark(Collection<Integer> isr) {
        return isr.size() >= minReplicas() && spans(isr);
    }

    /**
     * True if the controller forgets eligible replicas when these are in sync. It goes by the replicas of partition 0, as upstream does
     * for all partitions of a topic.
     */
    public boolean suffices(Collection<Integer> isr) {
        return isr.size() >= Math.min(settings.minReplicas(), topic.replicasOfFirst(partition)) && spans(isr);
    }

    private boolean spans(Collection<Integer> isr) {
        return EligibleSpan.of(view.level(), settings.minRacks(), view::rackOf).isMet(isr, EligibleSpan.original(partition.replicas(), partition.adding()));
    }

    /** True if these replicas may acknowledge acks=min.insync.replicas by themselves. */
    public boolean isQuorum(Collection<Integer> holders) {
        return holders.size() >= minReplicas() && (settings.minRacks() <= 1 || view.span(holders) >= settings.minRacks());
    }

    /** True if acks=min.insync.replicas is acknowledged by an electable set: it loses nothing then. */
    public boolean hasSets() {
        return RackspanVersion.hasElectableSets(view.level()) && (minReplicas() > 1 || settings.minRacks() > 1);
    }

    public Settings settings() {
        return settings;
    }
}
