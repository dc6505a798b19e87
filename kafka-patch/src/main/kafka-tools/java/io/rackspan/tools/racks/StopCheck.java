// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.LeaderRule;
import io.rackspan.prediction.Loss;
import io.rackspan.prediction.Predictor;
import io.rackspan.prediction.Prediction;
import io.rackspan.prediction.Quorum;
import io.rackspan.prediction.Verdict;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Topic;
import io.rackspan.prediction.LeaderRule.Refusal;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Finds what would suffer from a clean shutdown of brokers: what works now and would not, and what waits for replicas already. */
final class StopCheck {

    /**
     * One obstacle.
     *
     * @param topic     its topic, or null for the controllers' quorum
     * @param partition its partition, or -1
     * @param answer    NO, or UNKNOWN where it could not be known
     * @param reason    what would happen
     * @param waitFor   the replicas that have to be in sync before, or the voters that have to be back; empty if waiting does not help
     */
    record Obstacle(String topic, int partition, Verdict answer, String reason, List<Integer> waitFor) { }

    private StopCheck() {
    }

    static Verdict verdict(List<Obstacle> obstacles) {
        return obstacles.stream().map(Obstacle::answer).reduce(Verdict.YES, Verdict::and);
    }

    static List<Obstacle> obstacles(ClusterView view, Loss loss) {
        List<Obstacle> found = new ArrayList<>();
        Verdict quorum = Quorum.after(view, loss);
        if (quorum != Verdict.YES)
            found.add(new Obstacle(null, -1, quorum, quorum == Verdict.NO ? "no quorum of controllers would be left" :
                "a quorum of controllers may be lost: the racks of voters " + Quorum.unknownRacks(view) + " are not known", Quorum.waitFor(view, loss)));
        for (Topic topic : view.topics().values())
            for (Partition partition : topic.partitions())
                if (!Collections.disjoint(partition.replicas(), loss.brokers()))
                    add(found, view, topic, partition, loss);
        return found;
    }

    /** A lost quorum is an obstacle of its own: the others are those that a quorum leaves. */
    private static void add(List<Obstacle> found, ClusterView view, Topic topic, Partition partition, Loss loss) {
        Prediction now = Predictor.now(view, topic, partition);
        Prediction then = Predictor.predict(view, topic, partition, loss, Verdict.YES);
        Verdict answer = answer(now, then, !Collections.disjoint(partition.isr(), loss.brokers()));
        if (answer != Verdict.YES)
            found.add(new Obstacle(topic.name(), partition.index(), answer, then.reason() + advice(partition, loss), waitFor(view, topic, partition, loss)));
    }

    /** What helps where all members of an electable set would go at once. */
    private static String advice(Partition partition, Loss loss) {
        boolean allGo = !partition.electable().isEmpty() && partition.electable().members().stream().allMatch(member -> loss.has(member) || !partition.electable().mayLead(member));
        boolean othersStay = partition.isr().stream().anyMatch(replica -> !loss.has(replica));
        return allGo && othersStay ? "; stop them one after the other, so that the leader can choose other members" : "";
    }

    /** A write that is refused whatever is in sync is no obstacle: it is refused now, and no less afterwards. */
    private static Verdict answer(Prediction now, Prediction then, boolean inSync) {
        Verdict reads = now.readable() == Verdict.NO ? Verdict.YES : then.readable();
        boolean refusedForGood = now.refusal() == Refusal.INCONSISTENT_REPLICA_CONFIGURATION;
        boolean concerns = now.writable() != Verdict.NO || inSync && !refusedForGood;
        return concerns ? reads.and(then.writable()) : reads;
    }

    /** The replicas that are not in sync, if the brokers could be stopped with all of them in sync; else none. */
    private static List<Integer> waitFor(ClusterView view, Topic topic, Partition partition, Loss loss) {
        List<Integer> missing = partition.replicas().stream().filter(replica -> !partition.isr().contains(replica) && !loss.has(replica)).toList();
        List<Integer> rest = partition.replicas().stream().filter(replica -> !loss.has(replica)).toList();
        boolean helps = !missing.isEmpty() && new LeaderRule(view, topic, partition).refusal(rest) == null;
        return helps ? missing : List.of();
    }
}
