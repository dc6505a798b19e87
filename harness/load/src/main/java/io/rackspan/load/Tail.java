// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

/**
 * Consumes the topic from its end on, in the process that writes it: one clock measures a record from its due time until a
 * consumer has it.
 */
final class Tail implements AutoCloseable {

    private static final Duration POLL = Duration.ofMillis(100);

    /** Takes the records of this process, one after the other. */
    interface Sink {
        void read(ConsumerRecord<byte[], byte[]> record, Payload payload, long readNs) throws IOException;
    }

    private final ProduceSettings settings;
    private final int partitions;
    private final Sink sink;
    private final CountDownLatch ready = new CountDownLatch(1);
    private final Thread thread = new Thread(this::follow, "tail");
    private volatile boolean ended;
    private volatile Exception failure;
    private volatile long consumed;

    Tail(ProduceSettings settings, int partitions, Sink sink) {
        this.settings = settings;
        this.partitions = partitions;
        this.sink = sink;
        thread.setDaemon(true);
    }

    /** Starts; after it returns, no record that is sent later can be missed. */
    Tail started() throws IOException {
        thread.start();
        try {
            boolean there = ready.await((long) (settings.readySeconds() * 1000), TimeUnit.MILLISECONDS);
            if (!there || failure != null) {
                throw new IOException("the consumer does not know the end of " + settings.topic() + " after "
                    + settings.readySeconds() + " s", failure);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return this;
    }

    /** Waits until so many records of this process were consumed, at most so long; returns the number. */
    long await(long records, long timeoutNs) throws IOException {
        long until = System.nanoTime() + timeoutNs;
        while (consumed < records && failure == null && System.nanoTime() < until) {
            LockSupport.parkNanos(1_000_000);
        }
        if (failure != null) {
            throw new IOException("the consumer of " + settings.topic() + " broke", failure);
        }
        return consumed;
    }

    private void follow() {
        Properties p = new Properties();
        p.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, settings.kafka().get(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG));
        p.put(ConsumerConfig.CLIENT_ID_CONFIG, "tail-" + settings.producer());
        p.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        p.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        p.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p)) {
            List<TopicPartition> all = IntStream.range(0, partitions)
                .mapToObj(n -> new TopicPartition(settings.topic(), n)).toList();
            consumer.assign(all);
            consumer.seekToEnd(all);
            all.forEach(consumer::position);
            ready.countDown();
            while (!ended) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
                    long now = System.nanoTime();
                    Payload payload = Payload.parse(record.value());
                    if (payload != null && payload.producer().equals(settings.producer())) {
                        sink.read(record, payload, now);
                        consumed++;
                    }
                }
            }
        } catch (IOException | RuntimeException e) {
            failure = e;
            ready.countDown();
        }
    }

    @Override
    public void close() {
        ended = true;
        try {
            thread.join(10_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
