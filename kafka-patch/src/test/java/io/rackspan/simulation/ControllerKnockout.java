// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ClearElrRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.controller.Reassignments;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.server.common.ApiMessageAndVersion;

import io.rackspan.protocol.Electable;

import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/** Rules of the controller, knocked out by changing what it writes. */
final class ControllerKnockout {

    private static final int NO_LEADER_CHANGE = -2;

    private ControllerKnockout() { }

    static void apply(World world) {
        world.controller.registersAsClean = world.isBroken(Rule.ELIGIBLE_CLEAN);
        world.controller.forgetsRackChanges = world.isBroken(Rule.ELIGIBLE_RACKS);
        world.controller.clearsLeaderless = world.isBroken(Rule.ELIGIBLE_KEPT);
        world.controller.requiresNoRack = world.isBroken(Rule.RACK_REQUIRED);
        world.controller.cancelsAtAnyTime = world.isBroken(Rule.CANCELLED_SPAN);
        world.controller.checksNoRacks = world.isBroken(Rule.RACKS_CHECKED);
        if (world.isBroken(Rule.ELIGIBLE_SETTINGS))
            world.controller.rewrite = records -> records.stream().filter(record -> !(record.message() instanceof ClearElrRecord)).toList();
        if (world.isBroken(Rule.REFUSED_COPIES))
            world.controller.rewrite = records -> records.stream().filter(record -> !(record.message() instanceof PartitionChangeRecord change && isNewEpochOnly(change))).toList();
        if (world.isBroken(Rule.FENCED_LEAVE))
            world.controller.rewrite = ControllerKnockout::fenceOnly;
        if (world.isBroken(Rule.ELIGIBLE_NUMBER))
            world.controller.rewrite = records -> clear(world, records, isr -> !isr.isEmpty() && racks(world, isr) >=
                Math.min(world.settings.minRacks(), racks(world, world.replicas())));
        if (world.isBroken(Rule.ELIGIBLE_SPAN))
            world.controller.rewrite = records -> clear(world, records, isr -> isr.size() >=
                Math.min(world.settings.minReplicas(), world.replicas().size()));
        if (world.isBroken(Rule.ADDED_ELIGIBLE))
            world.controller.rewrite = records -> change(records, change -> keptWhileAdding(world, change));
        if (world.isBroken(Rule.ELECTED_ALONE))
            world.controller.rewrite = records -> change(records, change -> keptWhenElected(world, change));
        if (world.isBroken(Rule.REASSIGNED_SPAN))
            world.controller.rewrite = records -> change(records, change -> completed(world, change, end -> isWithin(end.electable, end)));
        if (world.isBroken(Rule.REASSIGNED_MEMBERS))
            world.controller.rewrite = records -> change(records, change -> withinReplicas(world, completed(world, change, end -> isSpanned(world, end))));
        if (world.isBroken(Rule.UNCLEAN_MEMBERS))
            world.controller.rewrite = records -> change(records, ControllerKnockout::unmarked);
        if (world.isBroken(Rule.ELECTED_MEMBERS))
            world.controller.rewrite = records -> isPlanned(records) ? records : change(records, change -> electedInSync(world, change));
        if (world.isBroken(Rule.PLANNED_MEMBERS))
            world.controller.rewrite = records -> isPlanned(records) ? change(records, change -> electedInSync(world, change)) : records;
        world.controller.prefersAnyInSync = world.isBroken(Rule.PLANNED_MEMBERS);
        world.controller.acceptsElectable = world.isBroken(Rule.SETS_REFUSED);
        world.controller.lowersWithElectable = world.isBroken(Rule.SETS_LOWER_REFUSED);
        if (world.isBroken(Rule.STATIC_IGNORED))
            world.controller.believeClusterDefault(2);
    }

    /** The change with the end of a reassignment, if the partition is then as required. */
    private static PartitionChangeRecord completed(World world, PartitionChangeRecord change, Predicate<PartitionRegistration> required) {
        PartitionRegistration now = world.controller.partition();
        PartitionChangeRecord completed = Reassignments.completed(now, change);
        return required.test(now.merge(completed)) ? completed : change;
    }

    private static boolean isWithin(Electable set, PartitionRegistration end) {
        return Replicas.toList(end.replicas).containsAll(set.members());
    }

    private static boolean isSpanned(World world, PartitionRegistration end) {
        return racks(world, Replicas.toList(end.isr)) >= Math.min(world.settings.minRacks(), racks(world, Replicas.toList(end.replicas)));
    }

    /** The electable set is what stays of it. */
    private static PartitionChangeRecord withinReplicas(World world, PartitionChangeRecord change) {
        PartitionRegistration end = world.controller.partition().merge(change);
        return isWithin(end.electable, end) ? change : end.electable.within(Replicas.toList(end.replicas)).intoChange(change.duplicate());
    }

    /** No member of the electable set is marked. */
    private static PartitionChangeRecord unmarked(PartitionChangeRecord change) {
        Electable set = Electable.in(change, Electable.NONE);
        return set.unclean().isEmpty() ? change : Electable.of(set.members()).intoChange(change);
    }

    private static boolean isPlanned(List<ApiMessageAndVersion> records) {
        return records.stream().anyMatch(record -> record.message() instanceof BrokerRegistrationChangeRecord change && change.inControlledShutdown() > 0);
    }

    /** Where a leader is elected, the first replica in sync is. */
    private static PartitionChangeRecord electedInSync(World world, PartitionChangeRecord change) {
        PartitionRegistration after = world.controller.partition().merge(change);
        if (after.electable.isEmpty() || change.leader() == NO_LEADER_CHANGE)
            return change;
        return Replicas.toList(after.replicas).stream().filter(replica -> world.controller.mayLead(replica, after)).findFirst()
            .map(replica -> change.duplicate().setLeader(replica)).orElse(change);
    }

    private static boolean isNewEpochOnly(PartitionChangeRecord change) {
        return change.equals(new PartitionChangeRecord().setTopicId(change.topicId()).setPartitionId(change.partitionId()));
    }

    /** Of the records that fence a broker, only the fence, unless it leads. */
    private static List<ApiMessageAndVersion> fenceOnly(List<ApiMessageAndVersion> records) {
        boolean fences = records.stream().anyMatch(record -> record.message() instanceof BrokerRegistrationChangeRecord change && change.fenced() > 0);
        return !fences ? records : records.stream().filter(record ->
            !(record.message() instanceof PartitionChangeRecord change) || change.leader() != NO_LEADER_CHANGE).toList();
    }

    /** Replicas that leave while others are added stay eligible until the ISR is in as many racks as all of them. */
    private static PartitionChangeRecord keptWhileAdding(World world, PartitionChangeRecord change) {
        PartitionRegistration before = world.controller.partition();
        PartitionRegistration after = before.merge(change);
        List<Integer> isr = Replicas.toList(after.isr);
        if (after.addingReplicas.length == 0 || isr.isEmpty() || racks(world, isr) >= Math.min(world.settings.minRacks(), racks(world, Replicas.toList(after.replicas))))
            return change;
        List<Integer> kept = Stream.concat(Arrays.stream(before.isr).boxed(), Arrays.stream(before.elr).boxed())
            .filter(replica -> !isr.contains(replica)).distinct().toList();
        return change.duplicate().setEligibleLeaderReplicas(kept);
    }

    /** The other eligible replicas stay eligible when one of them is elected. */
    private static PartitionChangeRecord keptWhenElected(World world, PartitionChangeRecord change) {
        PartitionRegistration before = world.controller.partition();
        if (before.leader >= 0 || change.leader() < 0 || before.isr.length > 0)
            return change;
        return change.duplicate().setEligibleLeaderReplicas(Arrays.stream(before.elr).boxed().filter(replica -> replica != change.leader()).toList());
    }

    private static long racks(World world, List<Integer> brokers) {
        return brokers.stream().map(id -> world.broker(id).rack).distinct().count();
    }

    /** Clears the eligible replicas where the ISR suffices by this rule alone. */
    private static List<ApiMessageAndVersion> clear(World world, List<ApiMessageAndVersion> records, Predicate<List<Integer>> suffices) {
        return change(records, change -> suffices.test(Replicas.toList(world.controller.partition().merge(change).isr))
            ? change.duplicate().setEligibleLeaderReplicas(List.of()) : change);
    }

    private static List<ApiMessageAndVersion> change(List<ApiMessageAndVersion> records, UnaryOperator<PartitionChangeRecord> how) {
        return records.stream().map(record -> record.message() instanceof PartitionChangeRecord change
            ? new ApiMessageAndVersion(how.apply(change), record.version()) : record).toList();
    }
}
