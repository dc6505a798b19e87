// SPDX-License-Identifier: Apache-2.0
package io.rackspan.prediction;

import io.rackspan.metadata.InternalTopics;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Settings;
import io.rackspan.prediction.ClusterView.Topic;
import io.rackspan.prediction.ClusterView.Voter;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Predicate;

/**
 * The number of racks that may be lost at once from now on, whichever they are.
 *
 * @param availability so that writes with acks=all and reads continue; -1 if they do not now
 * @param data         so that no record is lost that was acknowledged with acks=all, with power cuts that take what no disk had
 */
public record RackFailures(int availability, int data) {

    /** The losses of racks of one cluster, each made once for all of its partitions. */
    public static final class Losses {

        private final ClusterView view;
        private final int racks;
        private final Map<Collection<String>, Loss> clean = new HashMap<>();
        private final Map<Collection<String>, Loss> unclean = new HashMap<>();
        private final Map<Shape, RackFailures> known = new HashMap<>();

        public Losses(ClusterView view) {
            this.view = view;
            this.racks = view.racks().size();
        }

        private Loss clean(Collection<String> lost) {
            return clean.computeIfAbsent(lost, chosen -> Loss.ofRacks(view, chosen, false));
        }

        private Loss unclean(Collection<String> lost) {
            return unclean.computeIfAbsent(lost, chosen -> Loss.ofRacks(view, chosen, true));
        }
    }

    /**
     * All of a partition that the answer depends on, which many partitions have in common.
     *
     * @param ofFirst  the number of replicas of partition 0, which the controller goes by
     * @param hasSet   true with an electable set, also if no replica of it may lead
     * @param replicas in the order of the assignment
     */
    private record Shape(Settings settings, boolean internal, int ofFirst, boolean hasSet, List<Role> replicas) {

        static Shape of(ClusterView view, Topic topic, Partition partition) {
            return new Shape(view.settings(topic), InternalTopics.contains(topic.name()), topic.replicasOfFirst(partition), !partition.electable().isEmpty(),
                partition.replicas().stream().map(replica -> Role.of(view, partition, replica)).toList());
        }
    }

    /** One replica; `rack` is null on a broker that is not registered. */
    private record Role(String rack, boolean alive, boolean leads, boolean inSync, boolean eligible, boolean added,
                        boolean electable) {

        static Role of(ClusterView view, Partition partition, int replica) {
            return new Role(view.rackOf(replica), view.isAlive(replica), partition.leader() == replica, partition.isr().contains(replica),
                partition.elr().contains(replica), partition.adding().contains(replica), partition.electable().mayLead(replica));
        }
    }

    /** What one partition can bear while a quorum of controllers is left. */
    public static RackFailures of(Losses losses, Topic topic, Partition partition) {
        return losses.known.computeIfAbsent(Shape.of(losses.view, topic, partition), shape -> computed(losses, topic, partition));
    }

    private static RackFailures computed(Losses losses, Topic topic, Partition partition) {
        ClusterView view = losses.view;
        SortedSet<String> racks = view.racksOf(partition.replicas());
        return new RackFailures(
            borne(racks, losses.racks, lost -> available(Predictor.predict(view, topic, partition, losses.clean(lost), Verdict.YES))),
            borne(racks, losses.racks, lost -> Predictor.predict(view, topic, partition, losses.unclean(lost), Verdict.YES).safe() == Verdict.YES));
    }

    private static boolean available(Prediction prediction) {
        return prediction.writable() == Verdict.YES && prediction.readable() == Verdict.YES;
    }

    /** What the controllers' quorum can bear, by the racks of voters that are known. */
    public static int ofQuorum(ClusterView view) {
        SortedSet<String> racks = new TreeSet<>(view.racks());
        view.voters().stream().map(Voter::rack).filter(Objects::nonNull).forEach(racks::add);
        return borne(racks, racks.size(), lost -> Quorum.after(view, Loss.ofRacks(view, lost, false)) == Verdict.YES);
    }

    /** The highest number of these racks of which every choice passes, all numbers below it included; `most` if all do. */
    private static int borne(Collection<String> racks, int most, Predicate<Collection<String>> passes) {
        for (int lost = 0; lost <= racks.size(); lost++)
            if (!Loss.subsets(racks, lost).stream().allMatch(passes::test))
                return lost - 1;
        return most;
    }

    public RackFailures and(RackFailures other) {
        return new RackFailures(Math.min(availability, other.availability), Math.min(data, other.data));
    }
}
