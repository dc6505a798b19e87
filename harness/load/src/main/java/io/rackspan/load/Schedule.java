// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

/** Due times of records: evenly spaced from the start, shifted only by a requested pause or rate, never by slow sends. */
final class Schedule {

    private double rate;
    private long beginNs;
    private long firstSeq;

    Schedule(double rate) {
        this.rate = rate;
    }

    /** Starts, or resumes after a pause, with the next record. */
    void begin(long monoNs, long nextSeq) {
        beginNs = monoNs;
        firstSeq = nextSeq;
    }

    double rate() {
        return rate;
    }

    /** Sets another rate from the next record on. */
    void rate(double requested, long monoNs, long nextSeq) {
        rate = requested;
        begin(monoNs, nextSeq);
    }

    long due(long seq) {
        return beginNs + Math.round((seq - firstSeq) * 1e9 / rate);
    }
}
