// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import io.rackspan.protocol.Racks;

import org.apache.kafka.common.errors.InvalidReplicaAssignmentException;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;

import java.util.Collection;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * The condition on racks under which the controller may forget which replicas left the ISR of a partition (the base requires
 * their number only). While they span too few racks their leader holds the high watermark, so that a replica that left since then has all
 * that was acknowledged with acks=all, and must stay electable: those in sync may be the next to lose power. Immutable.
 */
public final class EligibleSpan {

    /** The rule of level 0 of rackspan.version: it changes nothing. */
    public static final EligibleSpan STOCK = new EligibleSpan(false, 1, broker -> null);

    private final boolean inForce;
    private final int minRacks;
    private final IntFunction<String> rackOf;

    private EligibleSpan(boolean inForce, int minRacks, IntFunction<String> rackOf) {
        this.inForce = inForce;
        this.minRacks = minRacks;
        this.rackOf = rackOf;
    }

    /**
     * @param level    the level of rackspan.version
     * @param minRacks the min.insync.racks of the topic
     * @param rackOf   the rack of a registered broker, {@link BrokerRacks#UNNAMED} if it has none; null if it is not registered
     */
    public static EligibleSpan of(short level, int minRacks, IntFunction<String> rackOf) {
        return level > 0 ? new EligibleSpan(true, minRacks, rackOf) : STOCK;
    }

    /** True from level 1 of rackspan.version on. */
    public boolean isInForce() {
        return inForce;
    }

    /** True if the topic requires racks. */
    public boolean isAsked() {
        return minRacks > 1;
    }

    /**
     * True if these in-sync replicas span enough racks, or all racks of the {@link #original} replicas where those are fewer. Leaders must
     * count alike: it is the opposite of io.rackspan.cluster.RackSpan#holdsHighWatermark.
     */
    public boolean isMet(Collection<Integer> isr, Collection<Integer> original) {
        return !isAsked() || span(isr) >= Math.min(minRacks, span(original));
    }

    /**
     * The replicas without those that a reassignment is adding; the argument itself if there are none. Racks of added ones count when the
     * reassignment ends, or a repair of placement would stop readers until its copy is complete.
     */
    public static List<Integer> original(List<Integer> replicas, Collection<Integer> adding) {
        return adding.isEmpty() ? replicas : replicas.stream().filter(replica -> !adding.contains(replica)).toList();
    }

    private int span(Collection<Integer> brokers) {
        return Racks.span(brokers, rackOf::apply);
    }

    /**
     * The eligible replicas without those that were taken from the assignment, by this change or by an earlier one at level 0: such a one
     * would come back with an empty log.
     *
     * @param before the replicas before the change
     * @param after  the replicas behind it
     */
    public List<Integer> assigned(List<Integer> eligible, Collection<Integer> before, Collection<Integer> after) {
        return inForce ? eligible.stream().filter(replica -> before.contains(replica) && after.contains(replica)).toList() : eligible;
    }

    /**
     * Requires that a reassignment which is cancelled leaves enough replicas in sync, from level 1 on. The replicas that it was adding count
     * while they are in the ISR, so that acknowledged records may be in them and in too few others.
     *
     * @param part     the partition before, named {@code partition}
     * @param isr      the ISR behind the cancellation
     * @param replicas the replicas behind it
     * @param minIsr   the min.insync.replicas in force
     * @throws InvalidReplicaAssignmentException if that ISR is too small, and the cancellation is what makes it smaller
     */
    public void requireRevert(String partition, PartitionRegistration part, List<Integer> isr, List<Integer> replicas, int minIsr) {
        boolean loses = IntStream.concat(IntStream.of(part.isr), IntStream.of(part.elr)).anyMatch(id -> !replicas.contains(id));
        if (!inForce || !loses || isr.size() >= Math.min(minIsr, replicas.size()) && isMet(isr, replicas))
            return;
        throw new InvalidReplicaAssignmentException("Unable to cancel the reassignment of " + partition + ": of the in-sync replicas " +
            Replicas.toList(part.isr) + " only " + isr + " would be left, in " + span(isr) + " rack(s), but min.insync.replicas is " + minIsr +
            " and min.insync.racks is " + minRacks + ". Acknowledged records might be in no other replica. Wait until more of " + replicas +
            " are in sync, or set unclean.leader.election.enable=true on the topic.");
    }
}
