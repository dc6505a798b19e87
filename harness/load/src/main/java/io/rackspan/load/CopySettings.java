package io.rackspan.load;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

import java.nio.charset.StandardCharsets;
import java.util.Properties;
import java.util.Set;

/** What one copying run shall do. {@code job} names the transactional id, the group of the offsets, and the copies. */
record CopySettings(String job, String from, String to, double readySeconds, Properties reader, Properties writer) {

    private static final Set<String> KNOWN = Set.of("bootstrap", "job", "from", "to", "acks", "ready-seconds");

    static CopySettings parse(String[] args) {
        Options options = new Options(args, KNOWN);
        String job = options.required("job");
        if (job.getBytes(StandardCharsets.UTF_8).length > ProduceSettings.MAX_PRODUCER_NAME || job.isEmpty()) {
            throw new Options.UsageException("bad --job: saw '" + job + "'; give 1 to "
                + ProduceSettings.MAX_PRODUCER_NAME + " bytes");
        }
        Properties reader = new Properties();
        reader.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, options.required("bootstrap"));
        reader.put(ConsumerConfig.GROUP_ID_CONFIG, job);
        reader.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        reader.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        reader.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        reader.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
        Properties writer = new Properties();
        writer.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, options.required("bootstrap"));
        writer.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, job);
        writer.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class.getName());
        writer.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class.getName());
        writer.put(ProducerConfig.ACKS_CONFIG, options.text("acks", "all"));
        writer.putAll(options.properties());
        return new CopySettings(job, options.required("from"), options.required("to"),
            options.positive("ready-seconds", 30), reader, writer);
    }
}
