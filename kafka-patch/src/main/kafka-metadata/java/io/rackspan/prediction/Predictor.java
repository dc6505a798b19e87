// SPDX-License-Identifier: Apache-2.0
package io.rackspan.prediction;

import org.apache.kafka.common.config.TopicConfig;

import io.rackspan.metadata.ElectableLeaders;
import io.rackspan.metadata.LevelSettings;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Topic;
import io.rackspan.prediction.LeaderRule.Refusal;

import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Predicts what becomes of a partition when brokers are lost at once: the controller takes them from the ISR and elects a leader from
 * what is left of it, or else from the eligible replicas; of a partition with an electable set from what is left of that, and from nothing else. Its
 * leader then replaces members that are lost, as soon as enough others are in sync. Replicas that are not in sync now are not expected to become so.
 */
public final class Predictor {

    private static final int NONE = -1;

    private final ClusterView view;
    private final Topic topic;
    private final Partition partition;
    private final Loss loss;
    private final LeaderRule rule;

    /** The in-sync replicas that are left, in the order of the assignment. */
    private final List<Integer> isr;

    /** Those, or the eligible replicas that are left where there are none, in the same order: one of them leads where there is no electable set. */
    private final List<Integer> byTheBase;

    /** The replicas that are left of which one leads, in the same order. */
    private final List<Integer> candidates;

    private Predictor(ClusterView view, Topic topic, Partition partition, Loss loss) {
        this.view = view;
        this.topic = topic;
        this.partition = partition;
        this.loss = loss;
        this.rule = new LeaderRule(view, topic, partition);
        this.isr = left(partition.isr());
        this.byTheBase = isr.isEmpty() ? left(eligibleNow()) : isr;
        this.candidates = hasSet() ? left(partition.electable().complete()) : byTheBase;
    }

    /** @param quorum the controllers' quorum after the loss */
    public static Prediction predict(ClusterView view, Topic topic, Partition partition, Loss loss, Verdict quorum) {
        Predictor predictor = new Predictor(view, topic, partition, loss);
        return switch (quorum) {
            case YES -> predictor.withQuorum();
            case NO -> predictor.withoutQuorum();
            case UNKNOWN -> predictor.withQuorum().or(predictor.withoutQuorum(), "a quorum of controllers may be lost");
        };
    }

    /** The partition as it is. */
    public static Prediction now(ClusterView view, Topic topic, Partition partition) {
        return predict(view, topic, partition, Loss.NONE, Verdict.YES);
    }

    /** The first change of an ISR that suffices empties the list of eligible replicas. */
    private List<Integer> eligibleNow() {
        return !view.elr() || rule.suffices(partition.isr()) ? List.of() : partition.elr();
    }

    /**
     * True if eligible replicas lack nothing that was acknowledged, as nothing is while they stay eligible. The controller goes by the
     * replicas of partition 0, so that it may keep them where a leader with fewer replicas does acknowledge.
     */
    private boolean isEligibleComplete() {
        return !rule.movesHighWatermark(partition.isr());
    }

    private boolean hasSet() {
        return !partition.electable().isEmpty();
    }

    private boolean isLeft(int broker) {
        return view.isAlive(broker) && !loss.has(broker);
    }

    private List<Integer> left(Collection<Integer> brokers) {
        return partition.replicas().stream().filter(replica -> brokers.contains(replica) && isLeft(replica)).toList();
    }

    private boolean isTouched() {
        return !Collections.disjoint(partition.replicas(), loss.brokers());
    }

    private Prediction withQuorum() {
        int leader = candidates.contains(partition.leader()) ? partition.leader() : first(candidates);
        boolean clean = leader != NONE && (hasSet() || !isr.isEmpty() || isEligibleComplete());
        boolean unclean = leader == NONE && rule.settings().uncleanElection();
        if (unclean)
            leader = first(uncleanOrder());
        if (leader != NONE && partition.leader() == NONE)
            return undecided();
        List<Integer> after = isrBehind(leader, unclean);
        Refusal refusal = leader == NONE ? null : rule.refusal(after);
        Verdict writable = Verdict.of(leader != NONE && refusal == null);
        String reason = leader == NONE ? leaderless() : refusal != null ? words(refusal, after) : clean ? "" : "the new leader may lack acknowledged records";
        return prediction(leader, after, writable, writable, Verdict.of(leader != NONE && rule.movesHighWatermark(after)), Verdict.of(clean), refusal, reason);
    }

    private List<Integer> uncleanOrder() {
        return ElectableLeaders.inUncleanOrder(partition.electable(), partition.replicas(), byTheBase::contains).stream().filter(this::isLeft).toList();
    }

    /** An unclean election, and one from the eligible replicas, leaves the leader alone in sync. One from the electable set adds it. */
    private List<Integer> isrBehind(int leader, boolean unclean) {
        if (leader == NONE || isr.contains(leader) && !unclean)
            return isr;
        if (unclean || !hasSet())
            return List.of(leader);
        return left(Stream.concat(isr.stream(), Stream.of(leader)).toList());
    }

    /**
     * The leader stays if it is there, and waits for all that were in sync. With acks=min.insync.replicas it waits for the members of the electable
     * set, none of which it can replace; without one it waits for all, as it cannot have one.
     */
    private Prediction withoutQuorum() {
        boolean leads = partition.leader() != NONE && isLeft(partition.leader());
        boolean complete = isr.size() == partition.isr().size() && partition.isr().containsAll(partition.electable().members());
        Refusal refusal = leads ? rule.refusal(partition.isr()) : null;
        boolean takes = leads && refusal == null;
        String reason = !leads && partition.leader() == NONE ? leaderless() : refusal != null ? words(refusal, partition.isr()) :
            leads && complete ? "" : "no quorum of controllers is left, so that the in-sync replicas " + partition.isr() + " and the leader stay as they are";
        return prediction(leads ? partition.leader() : NONE, leads && complete ? isr : partition.isr(), Verdict.of(takes && complete),
            Verdict.of(takes && (complete || isAcknowledgedByFew())), Verdict.of(leads && complete && rule.movesHighWatermark(partition.isr())),
            Verdict.of(leads), refusal, reason);
    }

    private boolean isAcknowledgedByFew() {
        List<Integer> members = partition.electable().members();
        return rule.hasSets() ? rule.isQuorum(partition.electable().complete()) && left(members).size() == members.size() : rule.isQuorum(isr);
    }

    /** There is no leader now, although a replica could be elected: what prevents it, as a failed disk, may continue. */
    private Prediction undecided() {
        Verdict unknown = Verdict.UNKNOWN;
        return new Prediction(topic.name(), partition.index(), NONE, isr, unknown, view.level() > 0 ? unknown : Verdict.NO, unknown, unknown, unknown, unknown,
            safe(), safeFew(safe()), null, "no leader now, although " + candidates + " may lead: why is not known");
    }

    private Prediction prediction(int leader, List<Integer> after, Verdict writable, Verdict few, Verdict visible, Verdict electable,
                                  Refusal refusal, String reason) {
        Verdict leads = Verdict.of(leader != NONE);
        Verdict safe = safe();
        String more = reason;
        if (rule.settings().quorumScope() && !rule.hasSets() && safe == Verdict.YES && isTouched()) {
            safe = Verdict.UNKNOWN;
            more = join(reason, TopicConfig.ACKS_ALL_SCOPE_CONFIG + "=" + "min.insync.replicas: records above the high watermark may be lost");
        } else if (safe == Verdict.NO)
            more = join(reason, "acknowledged records are in no replica that is left");
        else if (safe == Verdict.UNKNOWN)
            more = join(reason, "acknowledged records may be in " + elsewhere() + " only, which are down" + (hasSet() ? " or may not lead" : ""));
        return new Prediction(topic.name(), partition.index(), leader, after, writable, view.level() > 0 ? few : Verdict.NO, leads, leads, visible,
            electable, safe, safeFew(safe), refusal, more);
    }

    /**
     * Records acknowledged with acks=all are in every in-sync and in every eligible replica, or in every member of the electable set. One of them
     * that is left is enough, as long as no replica without them is elected.
     */
    private Verdict safe() {
        if (!candidates.isEmpty())
            return Verdict.of(hasSet() || !isr.isEmpty() || isEligibleComplete());
        if (holders().stream().noneMatch(loss::has))
            return Verdict.YES;
        if (rule.settings().uncleanElection() && partition.replicas().size() > 1)
            return Verdict.NO;
        if (!loss.unclean())
            return Verdict.YES;
        return elsewhere().isEmpty() ? Verdict.NO : Verdict.UNKNOWN;
    }

    /** Above the high watermark only an electable set keeps records; one is there before anything is acknowledged there. */
    private Verdict safeFew(Verdict safe) {
        return rule.hasSets() ? safe : safe.and(Verdict.UNKNOWN);
    }

    private Set<Integer> holders() {
        Set<Integer> holders = new LinkedHashSet<>(hasSet() ? partition.electable().complete() : partition.isr());
        if (!hasSet())
            holders.addAll(eligibleNow());
        return holders;
    }

    /** Those that are down already: whether they kept what they had is not known. In-sync replicas of a lost electable set may not lead. */
    private List<Integer> elsewhere() {
        Set<Integer> found = new LinkedHashSet<>(holders());
        if (hasSet())
            found.addAll(partition.isr());
        return found.stream().filter(holder -> !loss.has(holder)).toList();
    }

    private static int first(List<Integer> brokers) {
        return brokers.isEmpty() ? NONE : brokers.get(0);
    }

    private static String join(String one, String other) {
        return one.isEmpty() ? other : one + "; " + other;
    }

    private String leaderless() {
        if (hasSet())
            return "no leader: of the electable set " + partition.electable() + " none is left";
        return "no leader: of the in-sync replicas " + partition.isr() + (partition.elr().isEmpty() ? "" : " and the eligible ones " + partition.elr()) + " none is left";
    }

    private String words(Refusal refusal, List<Integer> after) {
        return switch (refusal) {
            case INCONSISTENT_REPLICA_CONFIGURATION -> partition.replicas().size() + " replica(s) in " + view.span(partition.replicas()) + " rack(s) [" +
                Loss.words(view.racksOf(partition.replicas())) + "] can never meet " + required();
            case NOT_ENOUGH_REPLICAS -> after.size() + " replica(s) in sync " + after + ", " + TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG + " is " + rule.minReplicas();
            case NOT_ENOUGH_RACKS -> "in-sync replicas " + after + " are in " + view.span(after) + " rack(s) [" + Loss.words(view.racksOf(after)) + "], " +
                LevelSettings.MIN_RACKS + " is " + rule.settings().minRacks();
        };
    }

    private String required() {
        return TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG + "=" + rule.settings().minReplicas() +
            (rule.settings().minRacks() > 1 ? " and " + LevelSettings.MIN_RACKS + "=" + rule.settings().minRacks() : "");
    }
}
