// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.Namespace;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

import java.nio.file.Path;
import java.util.Properties;

/** Settings of one reading run; {@code idleSeconds} limits the time without progress. */
record ReadSettings(String topic, Path out, double idleSeconds, Properties kafka) {

    static void addOptions(ArgumentParser parser) {
        parser.addArgument("--bootstrap").required(true).metavar("HOST:PORT").help("Bootstrap servers.");
        parser.addArgument("--topic").required(true).help("Topic to read.");
        parser.addArgument("--out").required(true).type(OptionTypes.path()).metavar("FILE").help("New file for the records.");
        parser.addArgument("--isolation").setDefault("read_uncommitted").metavar("LEVEL").help("Isolation level.");
        parser.addArgument("--idle-seconds").type(OptionTypes.positive()).setDefault(30.0).metavar("SECONDS")
            .help("Time without a record after which reading fails.");
        OptionTypes.addProperty(parser);
    }

    static ReadSettings of(Namespace options) {
        Properties p = new Properties();
        p.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, options.getString("bootstrap"));
        p.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        p.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        p.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, options.getString("isolation"));
        p.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
        p.putAll(OptionTypes.properties(options));
        return new ReadSettings(options.getString("topic"), options.get("out"), options.getDouble("idle_seconds"), p);
    }
}
