// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts instead of records: of every record that is due between the begin and the end of a named window, latency by
 * result, send lag, and the time to a consumer, in µs with three digits.
 *
 * <p>One line a bucket: window, measure, result, cause, lowest value, width, records. Records without an answer have no
 * result and count at 0.
 */
final class Histograms implements Recording {

    static final String MAGIC = "RKHISTO1";
    private static final int DIGITS = 3;
    private static final int KEPT = 2;

    private final BufferedWriter out;
    private final long capacity;
    private final Deque<Window> windows = new ArrayDeque<>();
    // Held while an edge is set and while a record is sent: whoever sends beyond an edge knows of it.
    private final Object edge = new Object();
    private volatile Window current;
    private volatile Window previous;

    Histograms(Path path, String producer, long capacity) throws IOException {
        this.capacity = capacity;
        out = Files.newBufferedWriter(path, StandardCharsets.UTF_8, StandardOpenOption.CREATE_NEW);
        out.write(MAGIC + "," + producer + "\n");
        out.flush();
    }

    /** Begins the window of that name for records that are due from now on. */
    synchronized void begin(String name) throws IOException {
        Window window = new Window(name);
        synchronized (edge) {
            window.beginNs = now();
            close(window.beginNs);
            previous = current;
            current = window;
        }
        windows.add(window);
        // A record without an answer two windows later is written as unanswered, so that memory stays bounded.
        while (windows.size() > KEPT) {
            windows.remove().write(out);
        }
        out.flush();
    }

    /** Ends the window for records that are due from now on. Returns its figures so far. */
    synchronized Map<String, Object> end() {
        Map<String, Object> line = new LinkedHashMap<>();
        Window window;
        synchronized (edge) {
            window = close(now());
        }
        if (window != null) {
            line.put("window", window.name);
            line.put("begin_mono_ns", window.beginNs);
            line.put("end_mono_ns", window.endNs);
            line.put("seconds", (window.endNs - window.beginNs) / 1e9);
            line.put("p99_us", percentile(window.latency.get(ErrorNames.OK)));
            line.put("lag_p99_us", percentile(window.lag));
        }
        return line;
    }

    /** The window that was open until now; null if there is none. */
    private Window close(long endNs) {
        Window window = current;
        if (window == null || window.endNs != Long.MAX_VALUE) {
            return null;
        }
        window.endNs = endNs;
        return window;
    }

    /** Behind everything that has been sent, as no record is sent before it is due. */
    private static long now() {
        return System.nanoTime() + 1;
    }

    private static Long percentile(Histogram histogram) {
        return histogram == null || histogram.getTotalCount() == 0 ? null : histogram.getValueAtPercentile(99);
    }

    @Override
    public long capacity() {
        return capacity;
    }

    @Override
    public Answer sent(long seq, long dueNs, long sentNs) {
        Window window;
        synchronized (edge) {
            window = at(dueNs);
        }
        if (window != null) {
            window.sent.increment();
            window.lag.recordValue(us(sentNs - dueNs));
        }
        return new Counted(window, dueNs);
    }

    /** Counts a record of this run that the consumer got. */
    void read(long dueNs, long readNs) {
        Window window = at(dueNs);
        if (window != null) {
            window.endToEnd.recordValue(us(readNs - dueNs));
        }
    }

    private Window at(long dueNs) {
        Window now = current;
        if (now != null && dueNs >= now.beginNs) {
            return dueNs < now.endNs ? now : null;
        }
        Window before = previous;
        return before != null && dueNs >= before.beginNs && dueNs < before.endNs ? before : null;
    }

    private static long us(long ns) {
        return Math.max(0, ns / 1000);
    }

    @Override
    public synchronized void finish(long records) throws IOException {
        while (!windows.isEmpty()) {
            windows.remove().write(out);
        }
        out.flush();
    }

    @Override
    public void close() throws IOException {
        out.close();
    }

    private record Bucket(Window window, BufferedWriter out) {

        void line(String measure, String result, long low, long width, long count) throws IOException {
            int slash = result.indexOf('/');
            String name = slash < 0 ? result : result.substring(0, slash);
            String cause = slash < 0 ? "" : result.substring(slash + 1);
            out.write(String.join(",", window.name, measure, name, cause, Long.toString(low), Long.toString(width),
                Long.toString(count)) + "\n");
        }

        void lines(String measure, String result, Histogram histogram) throws IOException {
            for (var value : histogram.recordedValues()) {
                long at = value.getValueIteratedTo();
                line(measure, result, histogram.lowestEquivalentValue(at), histogram.sizeOfEquivalentValueRange(at),
                    value.getCountAtValueIteratedTo());
            }
        }
    }

    private static final class Window {

        final String name;
        long beginNs;
        volatile long endNs = Long.MAX_VALUE;
        final LongAdder sent = new LongAdder();
        final Histogram lag = new ConcurrentHistogram(DIGITS);
        final Histogram endToEnd = new ConcurrentHistogram(DIGITS);
        final ConcurrentMap<String, Histogram> latency = new ConcurrentHashMap<>();

        Window(String name) {
            this.name = name;
        }

        void write(BufferedWriter out) throws IOException {
            Bucket rows = new Bucket(this, out);
            rows.lines("send_lag", "", lag);
            rows.lines("end_to_end", "", endToEnd);
            long answered = 0;
            for (Map.Entry<String, Histogram> result : latency.entrySet()) {
                rows.lines("latency", result.getKey(), result.getValue());
                answered += result.getValue().getTotalCount();
            }
            if (sent.sum() > answered) {
                rows.line("latency", "", 0, 1, sent.sum() - answered);
            }
        }
    }

    private static final class Counted implements Answer {

        private final Window window;
        private final long dueNs;
        private volatile boolean known;

        Counted(Window window, long dueNs) {
            this.window = window;
            this.dueNs = dueNs;
        }

        @Override
        public boolean known() {
            return known;
        }

        @Override
        public void done(long doneNs, int partition, long offset, String result, String cause) {
            known = true;
            if (window != null) {
                window.latency.computeIfAbsent(cause.isEmpty() ? result : result + "/" + cause,
                    r -> new ConcurrentHistogram(DIGITS)).recordValue(us(doneNs - dueNs));
            }
        }
    }
}
