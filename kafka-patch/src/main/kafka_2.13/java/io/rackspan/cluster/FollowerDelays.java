// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import java.util.Arrays;

/**
 * How long followers of one partition take to report what the leader has appended, in ms: a moving average, or the time that the oldest append is
 * unreported, if that is longer. Thread-safe.
 */
final class FollowerDelays {

    /** The weight of a new sample. */
    private static final double WEIGHT = 0.1;

    /** Appends that are remembered, one a millisecond at most. */
    private static final int MARKS = 256;

    private static final class Follower {
        private final int id;
        private volatile long reported = 0;
        private double average = 0;

        private Follower(int id) {
            this.id = id;
        }
    }

    // Made with the first mark: most partitions of a broker never have one
    private long[] ends = {};
    private long[] times = {};

    /** Replaced, never changed. Each fetch looks one up: of so few a walk is the fastest. */
    private volatile Follower[] followers = {};
    private long marks = 0;

    /** The log of the leader ends here now. */
    synchronized void appended(long end, long nowMs) {
        int last = (int) ((marks + MARKS - 1) % MARKS);
        if (marks > 0 && ends[last] >= end)
            return;
        if (marks > 0 && times[last] == nowMs) {
            ends[last] = end;
            return;
        }
        if (ends.length == 0) {
            ends = new long[MARKS];
            times = new long[MARKS];
        }
        int next = (int) (marks++ % MARKS);
        ends[next] = end;
        times[next] = nowMs;
    }

    /** A follower reports its log end. Takes no lock if that has not moved on. */
    void reported(int follower, long end, long nowMs) {
        Follower known = known(follower);
        if (known == null || end > known.reported)
            moved(follower, end, nowMs);
    }

    private Follower known(int id) {
        for (Follower follower : followers)
            if (follower.id == id)
                return follower;
        return null;
    }

    private Follower added(int id) {
        Follower[] all = Arrays.copyOf(followers, followers.length + 1);
        all[all.length - 1] = new Follower(id);
        followers = all;
        return all[all.length - 1];
    }

    private synchronized void moved(int follower, long end, long nowMs) {
        Follower before = known(follower);
        Follower known = before == null ? added(follower) : before;
        if (end <= known.reported)
            return;
        long since = unreportedSince(known.reported);
        known.reported = end;
        if (since >= 0)
            known.average += WEIGHT * (nowMs - since - known.average);
    }

    /** The delay of a follower; 0 if nothing is known of it. */
    synchronized double delayMs(int follower, long nowMs) {
        Follower known = known(follower);
        long since = unreportedSince(known == null ? 0 : known.reported);
        return Math.max(known == null ? 0 : known.average, since < 0 ? 0 : nowMs - since);
    }

    /** Forgets everything: another term begins. */
    synchronized void clear() {
        marks = 0;
        followers = new Follower[0];
    }

    /** When the oldest append behind an offset was made; -1 if there is none. */
    private long unreportedSince(long reported) {
        long from = Math.max(0, marks - MARKS);
        long to = marks;
        // Ends grow from mark to mark
        while (from < to) {
            long middle = (from + to) >>> 1;
            if (ends[(int) (middle % MARKS)] > reported)
                to = middle;
            else
                from = middle + 1;
        }
        return from < marks ? times[(int) (from % MARKS)] : -1;
    }
}
