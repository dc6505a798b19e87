// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import io.rackspan.cluster.AckQuorum;
import io.rackspan.cluster.ElectableGate;
import io.rackspan.protocol.Electable;

import java.lang.reflect.Field;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** Rules of leaders about electable sets, knocked out by what the leader believes for a moment. */
final class ElectableKnockout {

    private static final Field PROPOSED = Knockout.field(ElectableGate.class, "proposed");
    private static final Field WAS_AWAITED = Knockout.field(ElectableGate.class, "wasAwaited");
    private static final Field AWAITED_MS = Knockout.field(ElectableGate.class, "awaitedMs");
    private static final Field ACKNOWLEDGED = Knockout.field(AckQuorum.class, "acknowledged");
    private static final long IDLE_MS = 10_000;

    private ElectableKnockout() { }

    /**
     * True if a record that these brokers hold is acknowledged by a leader without one of the rules; what else is required is left to others.
     *
     * @param suffices true for sets with enough replicas in enough racks
     */
    static boolean isHeld(World world, SimulatedPartition partition, int leader, Set<Integer> holders, Predicate<Set<Integer>> suffices) {
        Electable set = partition.quorumGates().electable().committed();
        Electable proposed = proposed(partition);
        boolean emptying = proposed != null && proposed.isEmpty();
        if (world.isBroken(Rule.QUORUM_MEMBERS) && proposed == null && !set.isEmpty())
            return suffices.test(holders);
        return (world.isBroken(Rule.QUORUM_PROPOSED) && proposed != null && !emptying || world.isBroken(Rule.QUORUM_EMPTYING) && emptying) &&
            holders.containsAll(set.members()) && set.mayLead(leader) && suffices.test(Set.copyOf(set.members()));
    }

    private static Electable proposed(SimulatedPartition partition) {
        return get(PROPOSED, partition.quorumGates().electable());
    }

    @SuppressWarnings("unchecked")
    private static <T> T get(Field field, Object of) {
        try {
            return (T) field.get(of);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void set(Field field, Object of, Object value) {
        try {
            field.set(of, value);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static boolean isNeeded(World world, SimulatedPartition partition) {
        ElectableGate gate = partition.quorumGates().electable();
        return partition.quorumGates().quorum().isAwaited() || (Boolean) get(WAS_AWAITED, gate) &&
            world.time.milliseconds() - (Long) get(AWAITED_MS, gate) < IDLE_MS;
    }

    /**
     * Does what may propose a set. The leader forgets for that time what it is to go by.
     *
     * @param follower who is the reason for it: one that is not in sync joins the ISR by all rules
     */
    static <T> T proposing(World world, SimulatedPartition partition, int follower, Supplier<T> what) {
        if (!partition.isLeader() || !partition.partitionState().isr().contains(follower))
            return what.get();
        AckQuorum quorum = partition.quorumGates().quorum();
        long acknowledged = quorum.acknowledged();
        scala.Option<Object> start = partition.leaderEpochStartOffsetOpt();
        boolean needed = isNeeded(world, partition);
        if (world.isBroken(Rule.MEMBER_ACKNOWLEDGED) && needed || world.isBroken(Rule.EMPTIED_DRAINED) && !needed)
            set(ACKNOWLEDGED, quorum, 0L);
        if (world.isBroken(Rule.MEMBER_EPOCH_START))
            partition.leaderEpochStartOffsetOpt_$eq(scala.Option.apply((Object) 0L));
        try {
            return what.get();
        } finally {
            set(ACKNOWLEDGED, quorum, Math.max(acknowledged, quorum.acknowledged()));
            if (world.isBroken(Rule.MEMBER_EPOCH_START))
                partition.leaderEpochStartOffsetOpt_$eq(start);
        }
    }
}
