// SPDX-License-Identifier: Apache-2.0
package io.rackspan.producer;

import org.apache.kafka.common.utils.ExponentialBackoff;

/**
 * The time until a producer requests metadata again because a partition is not ready (seed 003). It grows with each answer that says so, and
 * differs between producers, so that those that lost the same rack do not request together (KIP-580). Not thread-safe.
 */
public final class ReadinessPause {

    /** The first pause; each is twice as long as the one before, up to the longest, give or take a fifth. */
    static final long FIRST_MS = 1_000;
    static final long LONGEST_MS = 16_000;

    private final ExponentialBackoff backoff = new ExponentialBackoff(FIRST_MS, 2, LONGEST_MS, 0.2);
    private long answers = 0;
    private long pauseMs = 0;

    /** Notes an answer: whether a partition is not ready, but can become so. */
    public void answered(boolean awaited) {
        pauseMs = awaited ? backoff.backoff(answers) : 0;
        answers = awaited ? answers + 1 : 0;
    }

    /** True if the last answer said that a partition is not ready. */
    public boolean isAwaiting() {
        return answers > 0;
    }

    /** The pause after the last answer, in milliseconds. */
    public long milliseconds() {
        return pauseMs;
    }
}
