// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import java.time.Instant;

/** An anchor of the monotonic clock to the epoch, so that all times of a run share one scale. */
record Clock(long anchorEpochNs, long anchorMonoNs) {

    private static final int TRIES = 20;

    /** Takes the tightest of several readings: the wall clock read between two monotonic readings. */
    static Clock anchor() {
        long best = Long.MAX_VALUE;
        Clock clock = null;
        for (int i = 0; i < TRIES; i++) {
            long before = System.nanoTime();
            Instant now = Instant.now();
            long after = System.nanoTime();
            if (after - before < best) {
                best = after - before;
                long epoch = now.getEpochSecond() * 1_000_000_000L + now.getNano();
                clock = new Clock(epoch, before + (after - before) / 2);
            }
        }
        return clock;
    }

    long mono(long epochNs) {
        return anchorMonoNs + (epochNs - anchorEpochNs);
    }

    long epoch(long monoNs) {
        return anchorEpochNs + (monoNs - anchorMonoNs);
    }
}
