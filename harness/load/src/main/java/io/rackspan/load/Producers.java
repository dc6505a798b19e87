// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import org.apache.kafka.clients.producer.KafkaProducer;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The Kafka producers of a run, which take its records in order. */
interface Producers extends AutoCloseable {

    Set<String> METRICS = Set.of("record-send-total", "record-retry-total", "record-error-total", "batch-split-total",
        "bufferpool-wait-time-ns-total");

    List<KafkaProducer<byte[], byte[]>> all();

    /** The producer of the next record; null if the run ends before one is ready. */
    KafkaProducer<byte[], byte[]> of(long seq);

    /** Hears that the record was handed over. */
    default void sent(long seq) {
    }

    /** Hears that no record is due for some time. */
    default void paused() {
    }

    /** Waits for the last answers, for the time given in all; further closing does nothing. */
    void close(Duration timeout);

    @Override
    default void close() {
        close(Duration.ofMillis(Long.MAX_VALUE / 2_000_000));
    }

    /** The producers' counters, summed. */
    default Map<String, Object> metrics() {
        Map<String, Double> sums = new LinkedHashMap<>();
        for (KafkaProducer<byte[], byte[]> producer : all()) {
            producer.metrics().forEach((name, metric) -> {
                if (name.group().equals("producer-metrics") && METRICS.contains(name.name())) {
                    sums.merge(name.name(), ((Number) metric.metricValue()).doubleValue(), Double::sum);
                }
            });
        }
        return new LinkedHashMap<>(sums);
    }
}
