package io.rackspan.load;

/** When each record is due: evenly spaced from the start, shifted only by an asked pause or rate, never by slow sends. */
final class Schedule {

    private double rate;
    private long beginNs;
    private long firstSeq;

    Schedule(double rate) {
        this.rate = rate;
    }

    /** Starts, or starts again after a pause, with the record that comes next. */
    void begin(long monoNs, long nextSeq) {
        beginNs = monoNs;
        firstSeq = nextSeq;
    }

    double rate() {
        return rate;
    }

    /** Another rate from the record that comes next on. */
    void rate(double wanted, long monoNs, long nextSeq) {
        rate = wanted;
        begin(monoNs, nextSeq);
    }

    long due(long seq) {
        return beginNs + Math.round((seq - firstSeq) * 1e9 / rate);
    }
}
