// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.NotEnoughRacksException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.AppendOrigin;

import io.rackspan.metadata.BrokerRacks;
import io.rackspan.protocol.Racks;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.Collection;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Supplier;

/**
 * The gates of min.insync.racks for one partition: may a write be appended, may the
 * high watermark move, may a waiting write be acknowledged. All of them compare one number, the span: how many distinct
 * racks a set of replicas is in.
 *
 * <p>With min.insync.racks at 1 each gate is one comparison. Above that the span is counted once per change of the replicas
 * or of the racks, recognised by the identity of both objects, so that a call allocates nothing. Thread-safe.
 */
public final class RackSpan {

    private static final Logger LOG = LoggerFactory.getLogger(RackSpan.class);

    private record View(Collection<Integer> replicas, BrokerRacks racks, int span) { }

    private record Requirement(int minReplicas, int minRacks, BrokerRacks racks) { }

    private final TopicPartition partition;
    private final Supplier<BrokerRacks> racks;
    private final RefusalLog refusalLog = new RefusalLog();

    private volatile View isrView = new View(null, null, 0);
    private volatile View assignmentView = new View(null, null, 0);
    private volatile Requirement requirement = new Requirement(0, 1, null);

    public RackSpan(TopicPartition partition, Supplier<BrokerRacks> racks) {
        this.partition = partition;
        this.racks = racks;
    }

    /** The number of distinct racks that the in-sync replicas are in. */
    public int span(Collection<Integer> isr) {
        BrokerRacks now = racks.get();
        View view = isrView;
        if (view.replicas != isr || view.racks != now) {
            view = new View(isr, now, now.span(isr));
            isrView = view;
        }
        return view.span;
    }

    /** The number of distinct racks that these assigned replicas may be in. */
    int assignmentSpan(Collection<Integer> assignment) {
        BrokerRacks now = racks.get();
        View view = assignmentView;
        if (view.replicas != assignment || view.racks != now) {
            view = new View(assignment, now, now.possibleSpan(assignment));
            assignmentView = view;
        }
        return view.span;
    }

    /** True if the in-sync replicas are in fewer racks than required. */
    public boolean isUnder(int minRacks, Collection<Integer> isr) {
        return minRacks > 1 && span(isr) < minRacks;
    }

    /** True if racks are required and none can be spared; never for the default 1, which requires none. */
    public boolean isAt(int minRacks, Collection<Integer> isr) {
        return minRacks > 1 && span(isr) == minRacks;
    }

    /**
     * The append gate. Of writes that Kafka itself depends on it requires no more racks than the replicas were assigned to before a
     * reassignment: see {@link InternalWrites}.
     *
     * @throws NotEnoughRacksException if the in-sync replicas are in too few racks
     */
    public void checkAppend(int minRacks, Collection<Integer> isr, Collection<Integer> assignment, Collection<Integer> original, AppendOrigin origin, Time time) {
        if (!isRefused(minRacks, isr, original, origin))
            return;
        String shortage = shortage(minRacks, isr, assignment);
        long refused = refusalLog.refused(time.milliseconds());
        if (refused > 0)
            LOG.warn("{} Refused {} append(s) since the last such line.", shortage, refused);
        throw new NotEnoughRacksException(shortage);
    }

    /**
     * True if a value above 1 requires more racks than these replicas, in sync or not, are assigned to. Not as long as a broker among
     * them is not registered or has no rack: it may turn out to be in another one. Nor for some minutes after one of them was relabelled.
     */
    public boolean isOutOfReach(int minRacks, Collection<Integer> assignment) {
        if (assignmentSpan(assignment) >= minRacks)
            return false;
        BrokerRacks now = racks.get();
        return (assignment.size() < minRacks || !now.isRelabelling(assignment)) &&
            assignment.stream().map(now::rackOf).allMatch(Racks::isNamed);
    }

    /** The racks of these replicas in words. */
    public String describe(Collection<Integer> replicas) {
        SortedSet<String> found = racks.get().racksOf(replicas);
        return found.size() + " rack(s) [" + BrokerRacks.describe(found) + "]";
    }

    /**
     * The high watermark gate. It does not wait for what the assignment can never meet: such a topic continues to serve writes
     * with acks 0 and 1, while the append gate refuses acks=all. Nor does it wait for replicas that a reassignment is adding.
     */
    public boolean holdsHighWatermark(int minRacks, Collection<Integer> isr, Collection<Integer> original) {
        return isUnder(minRacks, isr) && span(isr) < assignmentSpan(original);
    }

    /** The gate after the append: the error of a waiting write, whether or not the high watermark has reached it. */
    public Errors checkAfterAppend(int minRacks, Collection<Integer> isr, Collection<Integer> original, AppendOrigin origin) {
        return isRefused(minRacks, isr, original, origin) ? Errors.NOT_ENOUGH_RACKS_AFTER_APPEND : Errors.NONE;
    }

    private boolean isRefused(int minRacks, Collection<Integer> isr, Collection<Integer> original, AppendOrigin origin) {
        return InternalWrites.contains(partition.topic(), origin) ? holdsHighWatermark(minRacks, isr, original) : isUnder(minRacks, isr);
    }

    /**
     * Notes the present requirement, and returns true if that, or a rack it is measured by, has changed since the last call.
     * Always false at level 0, where the number of replicas is given as 0. The thread that publishes metadata calls it, first when the
     * partition gets its leader, then after each change of configurations or brokers, so that no change is missed between.
     */
    public synchronized boolean requirementChanged(int minReplicas, int minRacks) {
        Requirement last = requirement;
        BrokerRacks now = racks.get();
        boolean changed = minReplicas != last.minReplicas || minRacks != last.minRacks || (minRacks > 1 && now != last.racks);
        if (changed)
            requirement = new Requirement(minReplicas, minRacks, now);
        return changed;
    }

    /** The racks that are present, those that are missing, and the setting that requires them. */
    public String shortage(int minRacks, Collection<Integer> isr, Collection<Integer> assignment) {
        BrokerRacks now = racks.get();
        SortedSet<String> present = now.racksOf(isr);
        SortedSet<String> assigned = now.racksOf(assignment);
        SortedSet<String> missing = new TreeSet<>(assigned);
        missing.removeAll(present);
        String text = "Partition " + partition + " has in-sync replicas " + isr + " in " + present.size() + " rack(s) [" +
            BrokerRacks.describe(present) + "], but " + TopicConfig.MIN_IN_SYNC_RACKS_CONFIG + " is " + minRacks + ".";
        if (!missing.isEmpty())
            text += " No replica is in sync in rack(s) [" + BrokerRacks.describe(missing) + "].";
        if (assigned.size() < minRacks)
            text += " The assignment " + assignment + " spans " + assigned.size() + " rack(s) only: reassign it to more racks, or lower the setting.";
        return text;
    }
}
