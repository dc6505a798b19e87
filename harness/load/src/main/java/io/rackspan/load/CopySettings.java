// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.Namespace;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

import java.util.Properties;

/** Settings of one copying run. {@code job} names the transactional id, the group of the offsets, and the copies. */
record CopySettings(String job, String from, String to, double readySeconds, Properties reader, Properties writer) {

    static void addOptions(ArgumentParser parser) {
        parser.addArgument("--bootstrap").required(true).metavar("HOST:PORT").help("Bootstrap servers.");
        parser.addArgument("--job").required(true).type(OptionTypes.name(ProduceSettings.MAX_PRODUCER_NAME)).metavar("NAME")
            .help("Transactional id, consumer group, and producer name in the copies.");
        parser.addArgument("--from").required(true).metavar("TOPIC").help("Topic to read.");
        parser.addArgument("--to").required(true).metavar("TOPIC").help("Topic to write.");
        parser.addArgument("--acks").setDefault("all").help("The producer's acks.");
        parser.addArgument("--ready-seconds").type(OptionTypes.positive()).setDefault(30.0).metavar("SECONDS")
            .help("Time limit for the first metadata.");
        OptionTypes.addProperty(parser);
    }

    static CopySettings of(Namespace options) {
        String job = options.getString("job");
        Properties reader = new Properties();
        reader.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, options.getString("bootstrap"));
        reader.put(ConsumerConfig.GROUP_ID_CONFIG, job);
        reader.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        reader.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        reader.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        reader.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
        Properties writer = new Properties();
        writer.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, options.getString("bootstrap"));
        writer.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, job);
        writer.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class.getName());
        writer.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class.getName());
        writer.put(ProducerConfig.ACKS_CONFIG, options.getString("acks"));
        writer.putAll(OptionTypes.properties(options));
        return new CopySettings(job, options.getString("from"), options.getString("to"),
            options.getDouble("ready_seconds"), reader, writer);
    }
}
