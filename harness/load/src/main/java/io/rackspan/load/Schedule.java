// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import java.util.SplittableRandom;

/**
 * Due times of records, one after the other: evenly spaced, or drawn as a Poisson process. They are shifted only by a
 * requested pause or rate, never by slow sends.
 */
final class Schedule {

    private final boolean poisson;
    private final long seed;
    private double rate;
    private long beginNs;
    private long records;
    private double drawnNs;
    private int stretches;
    private SplittableRandom random;

    Schedule(double rate, boolean poisson, long seed) {
        this.rate = rate;
        this.poisson = poisson;
        this.seed = seed;
    }

    /** Starts, or resumes after a pause; each stretch has draws of its own, whatever the ones before took. */
    void begin(long monoNs) {
        beginNs = monoNs;
        records = 0;
        drawnNs = 0;
        random = new SplittableRandom(seed + stretches++);
        if (poisson) {
            draw();
        }
    }

    double rate() {
        return rate;
    }

    /** Sets another rate from the next record on. */
    void rate(double requested, long monoNs) {
        rate = requested;
        begin(monoNs);
    }

    /** Returns when the next record is due. */
    long due() {
        return beginNs + Math.round(poisson ? drawnNs : records * 1e9 / rate);
    }

    /** Passes on to the record after it. */
    void sent() {
        records++;
        if (poisson) {
            draw();
        }
    }

    /** Gaps of a Poisson process are exponential: no pattern of theirs can stay in step with a broker's. */
    private void draw() {
        drawnNs -= Math.log(1 - random.nextDouble()) * 1e9 / rate;
    }
}
