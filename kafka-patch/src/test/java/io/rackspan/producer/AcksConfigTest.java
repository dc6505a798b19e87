// SPDX-License-Identifier: Apache-2.0
package io.rackspan.producer;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.StringSerializer;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Values of acks that the Java producer accepts. */
final class AcksConfigTest {

    private static Map<String, Object> with(Object... settings) {
        Map<String, Object> all = new HashMap<>(Map.of("bootstrap.servers", "127.0.0.1:9092",
            "key.serializer", StringSerializer.class, "value.serializer", StringSerializer.class));
        for (int i = 0; i < settings.length; i += 2)
            all.put((String) settings[i], settings[i + 1]);
        return all;
    }

    private static boolean isIdempotent(ProducerConfig config) {
        return config.getBoolean(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG);
    }

    @ParameterizedTest
    @ValueSource(strings = {"min.insync.replicas", "-2"})
    void bothFormsAreSentAsMinusTwoAndKeepIdempotence(String acks) {
        ProducerConfig config = new ProducerConfig(with("acks", acks));
        assertEquals("-2", config.getString("acks"));
        assertTrue(isIdempotent(config), "on by default");
        assertTrue(isIdempotent(new ProducerConfig(with("acks", acks, "enable.idempotence", true))));
        assertFalse(isIdempotent(new ProducerConfig(with("acks", acks, "enable.idempotence", false))));
        assertTrue(isIdempotent(new ProducerConfig(with("acks", acks, "transactional.id", "t"))));
        new KafkaProducer<String, String>(with("acks", acks, "transactional.id", "t")).close(Duration.ZERO);
    }

    @Test
    void theOldValuesKeepTheirMeaning() {
        assertEquals("-1", new ProducerConfig(with()).getString("acks"));
        assertEquals("-1", new ProducerConfig(with("acks", "all")).getString("acks"));
        for (String acks : new String[] {"0", "1"}) {
            ProducerConfig config = new ProducerConfig(with("acks", acks));
            assertEquals(acks, config.getString("acks"));
            assertFalse(isIdempotent(config));
            ConfigException refusal = assertThrows(ConfigException.class, () -> new ProducerConfig(with("acks", acks, "enable.idempotence", true)));
            assertTrue(refusal.getMessage().startsWith("Must set acks to all or min.insync.replicas in order to use the idempotent producer."),
                refusal.getMessage());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"2", "3", "-3", "majority", ""})
    void otherValuesAreRefusedWithTheListOfAcceptedOnes(String acks) {
        ConfigException refusal = assertThrows(ConfigException.class, () -> new ProducerConfig(with("acks", acks)));
        assertEquals("Invalid value " + acks + " for configuration acks: String must be one of: all, -1, 0, 1, -2, min.insync.replicas",
            refusal.getMessage());
    }
}
