// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import io.rackspan.protocol.Racks;

import java.util.Collection;
import java.util.List;
import java.util.function.IntFunction;

/**
 * The condition on racks under which the controller may forget which replicas left the ISR of a partition (the base requires
 * their number only). While they span too few racks their leader holds the high watermark, so that a replica that left since then has all
 * that was acknowledged with acks=all, and must stay electable: those in sync may be the next to lose power. Immutable.
 */
public final class EligibleSpan {

    /** The rule of a topic that requires no racks: it changes nothing. */
    public static final EligibleSpan NOT_ASKED = new EligibleSpan(1, broker -> null);

    private final int minRacks;
    private final IntFunction<String> rackOf;

    private EligibleSpan(int minRacks, IntFunction<String> rackOf) {
        this.minRacks = minRacks;
        this.rackOf = rackOf;
    }

    /**
     * @param minRacks the min.insync.racks of the topic
     * @param rackOf   the rack of a registered broker, {@link BrokerRacks#UNNAMED} if it has none; null if it is not registered
     */
    public static EligibleSpan of(int minRacks, IntFunction<String> rackOf) {
        return minRacks > 1 ? new EligibleSpan(minRacks, rackOf) : NOT_ASKED;
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

    /** The eligible replicas without those that were taken from the assignment: such a one would come back with an empty log. */
    public List<Integer> assigned(List<Integer> eligible, Collection<Integer> assignment) {
        return isAsked() ? eligible.stream().filter(assignment::contains).toList() : eligible;
    }
}
