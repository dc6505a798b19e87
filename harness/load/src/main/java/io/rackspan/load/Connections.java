// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/**
 * Kafka producers that take records in turn, each with a connection of its own: a broker answers one request of a
 * connection after the other, so that on a single one a record also waits for those before it.
 */
final class Connections implements Producers {

    private final List<KafkaProducer<byte[], byte[]>> producers = new ArrayList<>();

    Connections(Properties kafka, int number) {
        try {
            for (int i = 0; i < number; i++) {
                Properties own = new Properties();
                own.putAll(kafka);
                if (i > 0) {
                    own.put(ProducerConfig.CLIENT_ID_CONFIG, kafka.get(ProducerConfig.CLIENT_ID_CONFIG) + "-" + (i + 1));
                }
                producers.add(new KafkaProducer<>(own));
            }
        } catch (RuntimeException e) {
            close(Duration.ZERO);
            throw e;
        }
    }

    @Override
    public List<KafkaProducer<byte[], byte[]>> all() {
        return producers;
    }

    @Override
    public KafkaProducer<byte[], byte[]> of(long seq) {
        return producers.get((int) (seq % producers.size()));
    }

    @Override
    public void close(Duration timeout) {
        long until = System.nanoTime() + timeout.toNanos();
        for (KafkaProducer<byte[], byte[]> producer : producers) {
            producer.close(Duration.ofNanos(Math.max(0, until - System.nanoTime())));
        }
    }
}
