package io.rackspan.load;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

import java.nio.file.Path;
import java.util.Properties;
import java.util.Set;

/** What one reading run shall do; {@code idleSeconds} is how long it may go without progress. */
record ReadSettings(String topic, Path out, double idleSeconds, Properties kafka) {

    private static final Set<String> KNOWN = Set.of("bootstrap", "topic", "out", "isolation", "idle-seconds");

    static ReadSettings parse(String[] args) {
        Options options = new Options(args, KNOWN);
        Properties p = new Properties();
        p.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, options.required("bootstrap"));
        p.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        p.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        p.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, options.text("isolation", "read_uncommitted"));
        p.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
        p.putAll(options.properties());
        return new ReadSettings(options.required("topic"), Path.of(options.required("out")),
            options.positive("idle-seconds", 30), p);
    }
}
