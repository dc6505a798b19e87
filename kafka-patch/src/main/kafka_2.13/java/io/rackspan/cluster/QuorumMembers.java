// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import java.util.Comparator;
import java.util.List;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;

/**
 * The replicas that a quorum is counted over and the numbers that it must have (acks=min.insync.replicas and min.insync.racks).
 *
 * <p>Members are kept in the order of their racks, so that a count is one walk, and nothing is allocated. Immutable.
 */
final class QuorumMembers<M> {

    private final List<M> members;
    private final int[] racks;
    private final int minReplicas;
    private final int minRacks;

    /**
     * @param members     each once
     * @param racks       the rack of each; null for a member that is in no known rack: it counts as a replica, and for no rack
     * @param minReplicas at least 1
     * @param minRacks    1 requires no racks: then even a member in no known rack counts
     */
    QuorumMembers(List<M> members, List<String> racks, int minReplicas, int minRacks) {
        int[] order = IntStream.range(0, members.size()).boxed()
            .sorted(Comparator.comparing(racks::get, Comparator.nullsFirst(Comparator.naturalOrder()))).mapToInt(Integer::intValue).toArray();
        List<String> named = IntStream.of(order).mapToObj(racks::get).distinct().toList();
        this.members = IntStream.of(order).mapToObj(members::get).toList();
        // 0 is no rack
        this.racks = IntStream.of(order).map(i -> racks.get(i) == null ? 0 : 1 + named.indexOf(racks.get(i))).toArray();
        this.minReplicas = minReplicas;
        this.minRacks = minRacks > 1 ? minRacks : 0;
    }

    /** True if the members whose log end is at the offset or beyond are enough, in enough racks. */
    boolean hold(long offset, ToLongFunction<M> end) {
        int replicas = 0;
        int span = 0;
        int last = 0;
        for (int i = 0; i < racks.length; i++) {
            if (end.applyAsLong(members.get(i)) < offset)
                continue;
            replicas++;
            if (racks[i] != last) {
                last = racks[i];
                span++;
            }
            if (replicas >= minReplicas && span >= minRacks)
                return true;
        }
        return false;
    }
}
