// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * How much may be destroyed. Since the cluster was last complete, brokers of fewer racks than min.insync.racks may lose their power or be
 * killed, as often as they like, or else fewer brokers than min.insync.replicas; the smallest values in that time count. Clean restarts,
 * expired sessions and lost messages are not limited. A broker that was in several racks in that time counts for each.
 */
final class FaultBudget {

    private final Map<Integer, Set<String>> racks = new HashMap<>();
    private final Set<Integer> hurt = new HashSet<>();
    private boolean closed = false;
    private int minReplicas;
    private int minRacks;

    /** Every replica has everything: what was destroyed before does not matter any more. */
    void complete(Map<Integer, String> racksNow, int minReplicasNow, int minRacksNow) {
        closed = false;
        hurt.clear();
        racks.clear();
        racksNow.forEach(this::moved);
        minReplicas = minReplicasNow;
        minRacks = minRacksNow;
    }

    void moved(int broker, String rack) {
        racks.computeIfAbsent(broker, id -> new HashSet<>()).add(rack);
    }

    /** A minimum is in force from now on, effectively no more than the assignment can meet. */
    void minimums(int replicas, int racksRequired) {
        minReplicas = Math.min(minReplicas, replicas);
        minRacks = Math.min(minRacks, racksRequired);
    }

    /** True if what was destroyed is in the budget of these minimums, too. */
    boolean allows(int replicas, int racksRequired) {
        return isIn(hurt, Math.min(minReplicas, replicas), Math.min(minRacks, racksRequired));
    }

    private boolean isIn(Set<Integer> brokers, int replicas, int racksRequired) {
        Set<String> places = new HashSet<>();
        brokers.forEach(id -> places.addAll(racks.get(id)));
        return brokers.isEmpty() || brokers.size() < replicas || places.size() < racksRequired;
    }

    boolean isUntouched() {
        return hurt.isEmpty() && !closed;
    }

    /** Nothing may be destroyed until the cluster is complete. */
    void close() {
        closed = true;
    }

    /** Takes a broker's memory out of the budget. Returns false, and takes nothing, if it is not in it. */
    boolean take(Set<Integer> brokers) {
        if (closed)
            return false;
        Set<Integer> all = new HashSet<>(hurt);
        all.addAll(brokers);
        if (!isIn(all, minReplicas, minRacks))
            return false;
        hurt.addAll(brokers);
        return true;
    }
}
