// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.utils.AppInfoParser;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Open-loop producer: each record has a due time fixed beforehand, and latency counts from it. As a closed loop it waits
 * for room, and what it could not send in the meantime is never due.
 */
final class ProduceRun {

    private static final long IDLE_PARK_NS = 2_000_000;
    private static final long BEHIND_NS = 10_000_000;

    private final ProduceSettings settings;
    private final Clock clock = Clock.anchor();
    private final Counters counters = new Counters();
    private final Caller caller;
    private final Control control;
    private volatile boolean closing;
    private volatile double rate;
    private Histograms histograms;

    ProduceRun(ProduceSettings settings, Caller caller) {
        this.settings = settings;
        this.rate = settings.rate();
        this.caller = caller;
        this.control = new Control(caller, settings.startPaused());
    }

    int run() throws IOException {
        Thread onTermination = new Thread(this::terminated, "terminated");
        Runtime.getRuntime().addShutdownHook(onTermination);
        try (Recording log = recording();
             Producers producers = producers()) {
            if (settings.control() || caller.connected()) {
                control.readLines(this::command);
            }
            int partitions = awaitPartitions(producers);
            if (partitions == 0) {
                return LoadMain.TIMED_OUT;
            }
            try (ReadLog reads = settings.consume() && histograms == null
                     ? new ReadLog(settings.consumed(), settings.topic(), clock) : null;
                 Tail tail = settings.consume() ? new Tail(settings, partitions, sink(reads)).started() : null) {
                started(partitions);
                return sendAndClose(producers, log, partitions, tail);
            }
        } finally {
            forget(onTermination);
        }
    }

    private int sendAndClose(Producers producers, Recording log, int partitions, Tail tail) throws IOException {
        ScheduledExecutorService ticker = Executors.newSingleThreadScheduledExecutor();
        try {
            ticker.scheduleAtFixedRate(() -> tick(producers), 1, 1, TimeUnit.SECONDS);
            long records = sendAll(producers, log, partitions);
            closing = true;
            if (control.abandoned()) {
                // The interrupt has done its work; closing must wait for the sending threads.
                Thread.interrupted();
                producers.close(Duration.ZERO);
                return LoadMain.FAILED;
            }
            long closeNs = (long) (settings.closeSeconds() * 1e9);
            producers.close(Duration.ofNanos(closeNs));
            long consumed = tail == null ? 0 : tail.await(counters.acked(), closeNs);
            end(ticker);
            log.finish(records);
            summary(producers, consumed);
            return LoadMain.OK;
        } finally {
            end(ticker);
        }
    }

    /** Waits for a line that is being sent: an interrupt would close the connection. */
    private static void end(ScheduledExecutorService ticker) {
        ticker.shutdown();
        boolean interrupted = false;
        while (!ticker.isTerminated()) {
            try {
                ticker.awaitTermination(1, TimeUnit.MINUTES);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private Producers producers() {
        return settings.transactionRecords() > 0 ? new Transactions(settings, caller, control)
            : new Connections(settings.kafka(), settings.connections());
    }

    private Recording recording() throws IOException {
        if (!settings.histogram()) {
            return new SendLog(settings.out(), settings.producer(), settings.topic(), clock, settings.capacity());
        }
        histograms = new Histograms(settings.out(), settings.producer(), settings.capacity());
        return histograms;
    }

    private Tail.Sink sink(ReadLog reads) {
        if (reads != null) {
            return reads::add;
        }
        return (record, payload, readNs) -> histograms.read(clock.mono(payload.dueEpochNs()), readNs);
    }

    /** Handles the lines that only a producing run knows. */
    private boolean command(String line) {
        try {
            if (line.matches("rate \\d+(\\.\\d+)?") && Double.parseDouble(line.substring(5)) > 0) {
                rate = Double.parseDouble(line.substring(5));
                mark("rated", Map.of("rate", rate));
            } else if (line.matches("begin [\\w/-]{1,64}")) {
                counters.begin();
                if (histograms != null) {
                    histograms.begin(line.substring(6));
                }
                mark("begun", Map.of());
            } else if (line.equals("end")) {
                mark("ended", histograms == null ? counters.end() : histograms.end());
            } else {
                return false;
            }
        } catch (IOException e) {
            System.err.println("the counts cannot be written: " + e + "; see the disk of " + settings.out());
            control.stop("counts not written");
        }
        return true;
    }

    private void mark(String name, Map<String, Object> more) {
        Map<String, Object> line = event(name);
        line.putAll(counters.totals());
        line.putAll(more);
        caller.status(line);
    }

    /** Handles SIGTERM: stops sending, then delays the exit until everything is written; a process of one run ends itself. */
    private void terminated() {
        Server.refuse();
        control.stop("SIGTERM");
        try {
            long seconds = (long) Math.ceil(settings.closeSeconds()) + 5;
            if (!caller.awaitEnd(seconds)) {
                System.err.println("load client did not stop: producer " + settings.producer() + " still open after "
                    + seconds + " s; its record file is readable, unanswered records have no done time");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void forget(Thread onTermination) {
        try {
            Runtime.getRuntime().removeShutdownHook(onTermination);
        } catch (IllegalStateException e) {
            // The process is ending: the hook runs and waits for this run.
            return;
        }
    }

    /** Waits until every producer has metadata of the topic. */
    private int awaitPartitions(Producers producers) {
        int partitions = 0;
        for (KafkaProducer<byte[], byte[]> producer : producers.all()) {
            partitions = awaitPartitions(producer);
            if (partitions == 0) {
                return 0;
            }
        }
        return partitions;
    }

    private int awaitPartitions(KafkaProducer<byte[], byte[]> producer) {
        long until = System.nanoTime() + (long) (settings.readySeconds() * 1e9);
        String failure = "no answer";
        while (System.nanoTime() < until && !control.stopped()) {
            try {
                return producer.partitionsFor(settings.topic()).size();
            } catch (TimeoutException e) {
                failure = e.getMessage();
            }
        }
        System.err.println("topic " + settings.topic() + " not usable after " + settings.readySeconds() + " s: last observed '"
            + failure + "'; check that it exists and that " + settings.kafka().get(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG)
            + " answers");
        return 0;
    }

    private long sendAll(Producers producers, Recording log, int partitions) {
        Schedule schedule = new Schedule(settings.rate(), settings.poisson(), settings.seed());
        byte[] template = Payload.template(settings.producer(), settings.size());
        long seq = 0;
        boolean running = false;
        while (seq < log.capacity() && !control.stopped()) {
            if (control.paused()) {
                if (running) {
                    producers.paused();
                    state("paused", seq);
                    running = false;
                }
                LockSupport.parkNanos(IDLE_PARK_NS);
                continue;
            }
            if (!running) {
                schedule.begin(System.nanoTime());
                state("resumed", seq);
                running = true;
            }
            if (rate != schedule.rate()) {
                schedule.rate(rate, System.nanoTime());
            }
            long due = schedule.due();
            long now = System.nanoTime();
            if (now < due) {
                LockSupport.parkNanos(Math.min(due - now, IDLE_PARK_NS));
                continue;
            }
            if (settings.closedLoop() && now - due > BEHIND_NS) {
                schedule.begin(now);
                due = now;
            }
            KafkaProducer<byte[], byte[]> producer = producers.of(seq);
            if (producer == null) {
                return seq;
            }
            send(producer, log, seq, due, System.nanoTime(), partition(seq, partitions), template);
            producers.sent(seq);
            schedule.sent();
            seq++;
        }
        return seq;
    }

    private Integer partition(long seq, int partitions) {
        return switch (settings.spread()) {
            case "round-robin" -> (int) (seq % partitions);
            case "sticky", "keyed" -> null;
            default -> Integer.valueOf(settings.spread());
        };
    }

    /** The record's number, from which others can compute its partition; null for records without a key. */
    private byte[] key(long seq) {
        return settings.spread().equals("keyed") ? ByteBuffer.allocate(Long.BYTES).putLong(seq).array() : null;
    }

    private void send(KafkaProducer<byte[], byte[]> producer, Recording log, long seq, long due, long now,
                      Integer partition, byte[] template) {
        Recording.Answer answer = log.sent(seq, due, now);
        counters.sent(now - due);
        byte[] value = Payload.fill(template, clock.epoch(due), seq);
        Callback callback = (metadata, error) -> answered(answer, due, partition, metadata, error);
        try {
            producer.send(new ProducerRecord<>(settings.topic(), partition, key(seq), value), callback);
        } catch (KafkaException | IllegalStateException e) {
            // Some failures are thrown and others go to the callback; each record is counted once.
            if (!answer.known()) {
                answered(answer, due, partition, null, e);
            }
        }
    }

    private void answered(Recording.Answer answer, long due, Integer partition, RecordMetadata metadata, Exception error) {
        if (control.abandoned()) {
            // Closing answers what is open; the record file is to have what was known before.
            return;
        }
        long now = System.nanoTime();
        String result = ErrorNames.of(error, closing);
        String cause = ErrorNames.cause(error);
        boolean known = error == null && metadata != null;
        long offset = known && metadata.hasOffset() ? metadata.offset() : -1;
        int where = known ? metadata.partition() : partition == null ? -1 : partition;
        // A send that throws may have handed the record over: its answer comes too, and is the better one.
        boolean isFirst = !answer.known();
        answer.done(now, where, offset, result, cause);
        if (isFirst) {
            counters.done(result, cause, now - due);
        }
    }

    private void tick(Producers producers) {
        control.checkStopFile(settings.stopFile());
        Map<String, Object> line = event("second");
        line.putAll(counters.totals());
        line.putAll(counters.interval());
        line.put("metrics", producers.metrics());
        caller.status(line);
    }

    private void started(int partitions) {
        // The effective value: an unusual acks makes a client turn idempotence off without a word.
        ProducerConfig effective = new ProducerConfig(settings.kafka());
        Map<String, Object> line = event("started");
        line.put("pid", ProcessHandle.current().pid());
        line.put("anchor_epoch_ns", clock.anchorEpochNs());
        line.put("anchor_mono_ns", clock.anchorMonoNs());
        line.put("topic", settings.topic());
        line.put("partitions", partitions);
        line.put("rate", settings.rate());
        line.put("arrivals", settings.poisson() ? "poisson" : "fixed");
        line.put("seed", settings.seed());
        line.put("connections", settings.connections());
        line.put("size", settings.size());
        line.put("client_version", AppInfoParser.getVersion());
        line.put("client_commit", AppInfoParser.getCommitId());
        line.put("acks", effective.getString(ProducerConfig.ACKS_CONFIG));
        line.put("transaction_records", settings.transactionRecords());
        line.put("abort_every", settings.abortEvery());
        line.put("idempotence", effective.getBoolean(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG));
        line.put("linger_ms", effective.getLong(ProducerConfig.LINGER_MS_CONFIG));
        line.put("retries", effective.getInt(ProducerConfig.RETRIES_CONFIG));
        line.put("delivery_timeout_ms", effective.getInt(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG));
        caller.status(line);
    }

    private void state(String name, long seq) {
        Map<String, Object> line = event(name);
        line.put("seq", seq);
        caller.status(line);
    }

    private void summary(Producers producers, long consumed) {
        Map<String, Object> line = event("summary");
        line.put("stopped_by", control.reason());
        line.put("consumed", consumed);
        line.putAll(counters.totals());
        line.put("metrics", producers.metrics());
        caller.status(line);
    }

    private Map<String, Object> event(String name) {
        Map<String, Object> line = new LinkedHashMap<>();
        long now = System.nanoTime();
        line.put("event", name);
        line.put("producer", settings.producer());
        line.put("t_ns", clock.epoch(now));
        line.put("mono_ns", now);
        return line;
    }
}
