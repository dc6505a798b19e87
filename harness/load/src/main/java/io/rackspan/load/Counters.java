// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** Running counts for the status lines; the record file, not this, is the measurement. */
final class Counters {

    private static final long MAX_US = 600_000_000L;

    private final AtomicLong sent = new AtomicLong();
    private final LongAdder answered = new LongAdder();
    private final Map<String, LongAdder> results = new ConcurrentHashMap<>();
    private final AtomicLong maxLagNs = new AtomicLong();
    private final AtomicLong maxLagEverNs = new AtomicLong();
    private final Recorder latencyUs = new Recorder(MAX_US, 3);
    private final Recorder lagUs = new Recorder(MAX_US, 3);

    void sent(long lagNs) {
        sent.incrementAndGet();
        maxLagNs.accumulateAndGet(lagNs, Math::max);
        maxLagEverNs.accumulateAndGet(lagNs, Math::max);
        lagUs.recordValue(Math.min(MAX_US, Math.max(0, lagNs / 1000)));
    }

    /** Begins a window. */
    void begin() {
        lagUs.reset();
    }

    /** Ends a window; returns the send lag of its records. */
    Map<String, Object> end() {
        Histogram lag = lagUs.getIntervalHistogram();
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("lag_p99_us", lag.getTotalCount() == 0 ? null : lag.getValueAtPercentile(99));
        return out;
    }

    void done(String result, String cause, long latencyNs) {
        answered.increment();
        results.computeIfAbsent(cause.isEmpty() ? result : result + "/" + cause, k -> new LongAdder()).increment();
        if (result.equals(ErrorNames.OK)) {
            latencyUs.recordValue(Math.min(MAX_US, Math.max(0, latencyNs / 1000)));
        }
    }

    long sentCount() {
        return sent.get();
    }

    /** Records acknowledged so far. */
    long acked() {
        LongAdder found = results.get(ErrorNames.OK);
        return found == null ? 0 : found.sum();
    }

    /** Counts since the start, by result; a cause is written behind a slash, e.g. TIMEOUT/NOT_ENOUGH_RACKS. */
    Map<String, Object> totals() {
        Map<String, Object> out = new LinkedHashMap<>();
        Map<String, Long> byResult = new TreeMap<>();
        results.forEach((k, v) -> byResult.put(k, v.sum()));
        out.put("sent", sent.get());
        out.put("acked", byResult.getOrDefault(ErrorNames.OK, 0L));
        byResult.remove(ErrorNames.OK);
        out.put("errors", byResult);
        out.put("unanswered", sent.get() - answered.sum());
        out.put("max_lag_us", maxLagEverNs.get() / 1000);
        return out;
    }

    /** Latency and send lag since the last call. */
    Map<String, Object> interval() {
        Histogram h = latencyUs.getIntervalHistogram();
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("interval_acked", h.getTotalCount());
        out.put("p50_us", h.getTotalCount() == 0 ? null : h.getValueAtPercentile(50));
        out.put("p99_us", h.getTotalCount() == 0 ? null : h.getValueAtPercentile(99));
        out.put("lag_max_us", maxLagNs.getAndSet(0) / 1000);
        return out;
    }
}
