// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;

import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Copies one topic into another, each batch and the offsets behind it in one transaction, until it is stopped; what is
 * in the source by then is copied before it ends. Copies keep sequence and due time, and name the job as their author.
 */
final class CopyRun {

    private static final Duration POLL = Duration.ofMillis(200);
    private static final long STATUS_NS = 1_000_000_000L;

    private final CopySettings settings;
    private final Clock clock = Clock.anchor();
    private final Caller caller;
    private final Control control;
    private long copied;
    private long commits;
    private long aborts;
    private long retriedEnds;

    CopyRun(CopySettings settings, Caller caller) {
        this.settings = settings;
        this.caller = caller;
        this.control = new Control(caller, false);
    }

    int run() {
        Duration ready = Duration.ofMillis((long) (settings.readySeconds() * 1000));
        try (KafkaConsumer<byte[], byte[]> reader = new KafkaConsumer<>(settings.reader());
             KafkaProducer<byte[], byte[]> writer = new KafkaProducer<>(settings.writer())) {
            control.readLines();
            writer.initTransactions();
            List<TopicPartition> partitions = reader.partitionsFor(settings.from(), ready).stream()
                .map(p -> new TopicPartition(p.topic(), p.partition())).toList();
            int targets = writer.partitionsFor(settings.to()).size();
            reader.assign(partitions);
            rewind(reader);
            status("started");
            long printed = System.nanoTime();
            boolean more = true;
            while (more && !control.abandoned()) {
                boolean last = control.stopped();
                ConsumerRecords<byte[], byte[]> batch = reader.poll(POLL);
                if (!batch.isEmpty()) {
                    copy(reader, writer, batch, targets);
                } else if (last) {
                    more = behind(reader);
                }
                if (System.nanoTime() - printed > STATUS_NS) {
                    status("second");
                    printed = System.nanoTime();
                }
            }
            status("summary");
            return LoadMain.OK;
        }
    }

    private void copy(KafkaConsumer<byte[], byte[]> reader, KafkaProducer<byte[], byte[]> writer,
                      ConsumerRecords<byte[], byte[]> batch, int targets) {
        try {
            writer.beginTransaction();
            for (ConsumerRecord<byte[], byte[]> record : batch) {
                Payload payload = Payload.parse(record.value());
                int where = (int) ((payload == null ? record.offset() : payload.seq()) % targets);
                writer.send(new ProducerRecord<>(settings.to(), where, record.key(), copy(record.value(), payload)));
            }
            writer.sendOffsetsToTransaction(offsetsAfter(batch), reader.groupMetadata());
            repeatUntilAnswered(writer::commitTransaction);
            copied += batch.count();
            commits++;
        } catch (KafkaException e) {
            // Fenced, or broken for good: the abort says so, and the job ends with that error.
            System.err.println("transaction of " + batch.count() + " records failed: " + e + "; aborting it");
            repeatUntilAnswered(writer::abortTransaction);
            aborts++;
            rewind(reader);
        }
    }

    private byte[] copy(byte[] value, Payload payload) {
        return payload == null ? value
            : Payload.fill(Payload.template(settings.job(), value.length), payload.dueEpochNs(), payload.seq());
    }

    /** A commit or abort that timed out may have happened: repeating it is the only safe answer. */
    private void repeatUntilAnswered(Runnable end) {
        while (true) {
            try {
                end.run();
                return;
            } catch (TimeoutException e) {
                retriedEnds++;
            }
        }
    }

    private static Map<TopicPartition, OffsetAndMetadata> offsetsAfter(ConsumerRecords<byte[], byte[]> batch) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        batch.forEach(r -> offsets.put(new TopicPartition(r.topic(), r.partition()), new OffsetAndMetadata(r.offset() + 1)));
        return offsets;
    }

    private static boolean behind(KafkaConsumer<byte[], byte[]> reader) {
        return reader.endOffsets(reader.assignment()).entrySet().stream()
            .anyMatch(e -> reader.position(e.getKey()) < e.getValue());
    }

    private static void rewind(KafkaConsumer<byte[], byte[]> reader) {
        Set<TopicPartition> fresh = new HashSet<>();
        reader.committed(reader.assignment()).forEach((partition, offset) -> {
            if (offset == null) {
                fresh.add(partition);
            } else {
                reader.seek(partition, offset);
            }
        });
        if (!fresh.isEmpty()) {
            reader.seekToBeginning(fresh);
        }
    }

    private void status(String event) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("event", event);
        line.put("job", settings.job());
        line.put("t_ns", clock.epoch(System.nanoTime()));
        line.put("acks", settings.writer().get("acks"));
        line.put("copied", copied);
        line.put("commits", commits);
        line.put("aborts", aborts);
        line.put("retried_ends", retriedEnds);
        caller.status(line);
    }
}
