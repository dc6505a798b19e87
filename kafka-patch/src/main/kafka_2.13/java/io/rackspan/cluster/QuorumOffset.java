// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

/**
 * The offset up to which enough replicas hold the log: the largest offset x such that the members whose log end is at x or beyond number
 * at least {@code minReplicas} and are in at least {@code minRacks} racks (acks=min.insync.replicas and min.insync.racks).
 *
 * <p>Members are kept in the order of their log ends. A change moves one of them to its new place and walks from the top
 * until both numbers are met: O(members), and nothing is allocated. Not thread-safe.
 */
final class QuorumOffset {

    /** The offset while no set of the members meets both numbers; also the log end of a member that has not reported it. */
    static final long NONE = -1;

    /** The rack of a member that is in no known rack: it counts as a replica, and for no rack. */
    static final int NO_RACK = -1;

    private final Object[] members;
    private final int[] racks;
    private final long[] ends;
    private final long[] lastWalkIn;
    private final int minReplicas;
    private final int minRacks;
    private int size = 0;
    private long walks = 0;
    private long offset = NONE;

    /**
     * @param capacity    the number of members that will be added
     * @param minReplicas at least 1
     * @param minRacks    1 requires no racks: then even a member in no known rack counts
     */
    QuorumOffset(int capacity, int minReplicas, int minRacks) {
        members = new Object[capacity];
        racks = new int[capacity];
        ends = new long[capacity];
        lastWalkIn = new long[capacity];
        this.minReplicas = minReplicas;
        this.minRacks = minRacks > 1 ? minRacks : 0;
    }

    /** Adds a member; racks are numbered from 0, below the capacity. The offset counts it from the next {@link #moved} or {@link #settle} on. */
    void add(Object member, int rack, long end) {
        members[size] = member;
        racks[size] = rack;
        ends[size] = end;
        place(size++);
    }

    /** Finds the offset after members were added. */
    void settle() {
        offset = walk();
    }

    /** Notes the log end of a member, which is recognised by identity. Anything that is no member changes nothing. */
    void moved(Object member, long end) {
        for (int i = 0; i < size; i++) {
            if (members[i] == member) {
                if (ends[i] != end) {
                    ends[i] = end;
                    place(i);
                    offset = walk();
                }
                return;
            }
        }
    }

    long offset() {
        return offset;
    }

    private void place(int from) {
        int i = from;
        for (; i > 0 && ends[i - 1] < ends[i]; i--)
            swap(i, i - 1);
        for (; i + 1 < size && ends[i + 1] > ends[i]; i++)
            swap(i, i + 1);
    }

    private void swap(int i, int j) {
        Object member = members[i];
        members[i] = members[j];
        members[j] = member;
        int rack = racks[i];
        racks[i] = racks[j];
        racks[j] = rack;
        long end = ends[i];
        ends[i] = ends[j];
        ends[j] = end;
    }

    private long walk() {
        walks++;
        int span = 0;
        for (int i = 0; i < size; i++) {
            int rack = racks[i];
            if (rack != NO_RACK && lastWalkIn[rack] != walks) {
                lastWalkIn[rack] = walks;
                span++;
            }
            if (i + 1 >= minReplicas && span >= minRacks)
                return ends[i];
        }
        return NONE;
    }
}
