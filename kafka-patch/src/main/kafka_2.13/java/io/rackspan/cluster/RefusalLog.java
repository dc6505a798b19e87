// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

/** Decides which refusals of one partition get a line in the log: the first, then one a period with the number of all. */
final class RefusalLog {

    /** Time between two lines of one partition, in milliseconds. */
    static final long PERIOD_MS = 30_000;

    private long refusals = 0;
    private long quietUntilMs = Long.MIN_VALUE;

    /** Counts a refusal. Returns how many there were since the last line if a line is due, else 0. */
    synchronized long refused(long nowMs) {
        refusals++;
        if (nowMs < quietUntilMs)
            return 0;
        long toReport = refusals;
        refusals = 0;
        quietUntilMs = nowMs + PERIOD_MS;
        return toReport;
    }
}
