// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.common.errors.InvalidReplicaAssignmentException;
import org.apache.kafka.common.message.AlterPartitionRequestData.BrokerState;
import org.apache.kafka.common.message.AlterPartitionRequestData.PartitionData;
import org.apache.kafka.metadata.PartitionRegistration;

import io.rackspan.common.RackspanVersion;
import io.rackspan.protocol.Electable;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.function.IntPredicate;

/** The controller's rules of the {@link Electable} set: which proposals are refused, who may lead, and how reassignments end. */
public final class ElectableLeaders {

    private ElectableLeaders() { }

    /**
     * True if the electable set that a leader proposes is refused: the level does not allow one, the leader is not in it, or a member is not in the
     * ISR that is proposed with it, whose brokers' epochs the base has checked. A proposal of none, and one without a set, is never refused.
     */
    public static boolean isRefused(short level, int leader, PartitionData proposal) {
        Electable proposed = Electable.in(proposal, Electable.NONE);
        return !proposed.isEmpty() && !(RackspanVersion.hasElectableSets(level) && proposed.unclean().isEmpty() && proposed.members().contains(leader) &&
            proposal.newIsrWithEpochs().stream().map(BrokerState::brokerId).toList().containsAll(proposed.members()));
    }

    /** True if this replica may lead: one of the electable set if there is one, else one that the base allows. */
    public static boolean mayLead(Electable electable, int replica, Collection<Integer> replicas, boolean byTheBase) {
        return electable.isEmpty() ? byTheBase : electable.mayLead(replica) && replicas.contains(replica);
    }

    /**
     * The replicas in the order in which an unclean election tries them. First come those that the base allows, so that what acks=all acknowledged is not
     * lost where it would not be without the set, and the members of the set, as a member whose process was killed has all that was acknowledged; then
     * the others. Each in the order of the assignment, by which an operator chooses.
     */
    public static List<Integer> inUncleanOrder(Electable electable, List<Integer> replicas, IntPredicate byTheBase) {
        if (electable.isEmpty())
            return replicas;
        return replicas.stream().sorted(Comparator.comparing(replica -> !byTheBase.test(replica) && !electable.members().contains(replica))).toList();
    }

    /** The ISR with a replica that was elected by the electable set and is not in it. */
    public static List<Integer> with(List<Integer> isr, int elected) {
        List<Integer> joined = new ArrayList<>(isr);
        joined.add(elected);
        return joined;
    }

    /**
     * True if a reassignment that would be complete has to wait with a leader that it removes, which then hands over to a member of the electable set
     * that stays.
     */
    public static boolean handsOver(Electable electable, int leader, Collection<Integer> staying) {
        return !electable.isEmpty() && !staying.contains(leader);
    }

    /** True if this replica is in sync, stays, may lead by the electable set, and is alive. */
    public static boolean mayTakeOver(Electable electable, int replica, Collection<Integer> isr, Collection<Integer> staying, IntPredicate isAlive) {
        return electable.mayLead(replica) && staying.contains(replica) && isr.contains(replica) && isAlive.test(replica);
    }

    /**
     * Requires that a cancelled reassignment leaves a member of the electable set that may lead.
     *
     * @throws InvalidReplicaAssignmentException if it does not
     */
    public static void requireRevert(String partition, PartitionRegistration now, Collection<Integer> replicas) {
        if (now.electable.isEmpty() || replicas.containsAll(now.electable.members()))
            return;
        throw new InvalidReplicaAssignmentException("Unable to cancel the reassignment of " + partition + ": its electable set " + now.electable +
            " is not within " + replicas + ". Acknowledged records might be in too few replicas. Reassign it to these replicas instead of " +
            "cancelling, which ends when they hold all that was acknowledged, or set unclean.leader.election.enable=true on the topic.");
    }
}
