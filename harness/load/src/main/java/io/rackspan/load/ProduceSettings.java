// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.ArgumentParserException;
import net.sourceforge.argparse4j.inf.Namespace;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.ByteArraySerializer;

import java.nio.file.Path;
import java.util.Properties;

/** Settings of one producing run. Times are seconds unless the name says otherwise. */
record ProduceSettings(String producer, String topic, Path out, Path stopFile, double rate, double duration,
                       boolean poisson, long seed, int size, int connections, boolean closedLoop, String spread, double readySeconds,
                       double closeSeconds, boolean control, boolean startPaused, boolean histogram, boolean consume,
                       int transactionRecords, int abortEvery, Properties kafka) {

    static final int MAX_PRODUCER_NAME = 31;
    private static final int MAX_CONNECTIONS = 100;
    private static final int MAX_KIB = 1_000_000;
    private static final long OPEN_KIB = 64 << 10;
    private static final int DEFAULT_REQUEST_TIMEOUT_MS = 30_000;

    /** The file of the records that the process itself consumes, unless they are counted. */
    Path consumed() {
        return out.resolveSibling(out.getFileName() + ".polls");
    }

    /** The number of records in the full schedule. */
    long capacity() {
        return (long) Math.ceil(rate * duration);
    }

    static void addOptions(ArgumentParser parser) {
        parser.addArgument("--producer").required(true).type(OptionTypes.name(MAX_PRODUCER_NAME)).metavar("NAME")
            .help("Name that the records carry.");
        parser.addArgument("--bootstrap").required(true).metavar("HOST:PORT").help("Bootstrap servers.");
        parser.addArgument("--topic").required(true).help("Topic to write.");
        parser.addArgument("--out").required(true).type(OptionTypes.path()).metavar("FILE").help("New file for the results.");
        parser.addArgument("--rate").type(OptionTypes.positive()).setDefault(100.0).help("Records per second.");
        parser.addArgument("--duration").type(OptionTypes.positive()).setDefault(3600.0).metavar("SECONDS")
            .help("Length of the schedule.");
        parser.addArgument("--size").type(OptionTypes.integer(Integer.MAX_VALUE)).setDefault(200).metavar("BYTES")
            .help("Size of a record's value.");
        parser.addArgument("--spread").setDefault("round-robin")
            .type(OptionTypes.matching("round-robin|sticky|keyed|\\d{1,9}", "round-robin, sticky, keyed or a partition's number"))
            .help("Choice of the partition: round-robin, sticky, keyed or a partition's number.");
        addLoopOptions(parser);
        addTransactionOptions(parser);
        addControlOptions(parser);
        addKafkaOptions(parser);
    }

    private static void addLoopOptions(ArgumentParser parser) {
        parser.addArgument("--arrivals").choices("fixed", "poisson").setDefault("fixed")
            .help("Due times: evenly spaced, or of a Poisson process.");
        parser.addArgument("--seed").type(Long.class).setDefault(0L).metavar("N").help("Seed of the Poisson process.");
        parser.addArgument("--connections").type(OptionTypes.integer(MAX_CONNECTIONS)).setDefault(1).metavar("N")
            .help("Producers that take the records in turn.");
        parser.addArgument("--unanswered-kib").type(OptionTypes.integer(MAX_KIB)).metavar("KIB")
            .help("Closed loop: a producer waits while this much has no answer.");
        parser.addArgument("--record").choices("records", "histogram").setDefault("records")
            .help("Keep every record, or histograms of named windows.");
        parser.addArgument("--consume").choices("no", "yes").setDefault("no").help("Consume the topic in this process too.");
    }

    private static void addTransactionOptions(ArgumentParser parser) {
        parser.addArgument("--transaction-records").type(OptionTypes.integer(Integer.MAX_VALUE)).metavar("N")
            .help("Records of a transaction; without it there are no transactions.");
        parser.addArgument("--abort-every").type(OptionTypes.integer(Integer.MAX_VALUE)).metavar("N")
            .help("Aborts every Nth transaction.");
    }

    private static void addControlOptions(ArgumentParser parser) {
        parser.addArgument("--control").choices("none", "stdin").setDefault("none")
            .help("Source of the lines that steer the client.");
        parser.addArgument("--start").choices("running", "paused").setDefault("running").help("State at the start.");
        parser.addArgument("--stop-file").type(OptionTypes.path()).metavar("FILE").help("The client stops when it exists.");
        parser.addArgument("--ready-seconds").type(OptionTypes.positive()).setDefault(30.0).metavar("SECONDS")
            .help("Time limit for the first metadata.");
        parser.addArgument("--close-seconds").type(OptionTypes.positive()).setDefault(10.0).metavar("SECONDS")
            .help("Time limit for the last answers.");
    }

    private static void addKafkaOptions(ArgumentParser parser) {
        parser.addArgument("--acks").setDefault("all").help("The producer's acks.");
        parser.addArgument("--linger-ms").type(Integer.class).setDefault(0).metavar("MS").help("The producer's linger.ms.");
        parser.addArgument("--retries").metavar("N").help("The producer's retries; 0 turns idempotence off.");
        parser.addArgument("--idempotence").choices("true", "false").help("The producer's enable.idempotence.");
        parser.addArgument("--delivery-timeout-ms").type(OptionTypes.integer(Integer.MAX_VALUE)).metavar("MS")
            .help("The producer's delivery.timeout.ms.");
        parser.addArgument("--request-timeout-ms").metavar("MS").help("The producer's request.timeout.ms.");
        OptionTypes.addProperty(parser);
    }

    static ProduceSettings of(Namespace options, ArgumentParser parser) throws ArgumentParserException {
        ProduceSettings settings = new ProduceSettings(options.getString("producer"), options.getString("topic"),
            options.get("out"), options.get("stop_file"), options.getDouble("rate"), options.getDouble("duration"),
            options.getString("arrivals").equals("poisson"), options.getLong("seed"), options.getInt("size"), options.getInt("connections"), options.get("unanswered_kib") != null,
            options.getString("spread"), options.getDouble("ready_seconds"), options.getDouble("close_seconds"),
            options.getString("control").equals("stdin"), options.getString("start").equals("paused"),
            options.getString("record").equals("histogram"), options.getString("consume").equals("yes"),
            orZero(options.getInt("transaction_records")), orZero(options.getInt("abort_every")), kafka(options));
        int least = Payload.minimumSize(settings.producer);
        if (settings.size < least) {
            throw new ArgumentParserException("argument --size: observed " + settings.size + "; a record of producer "
                + settings.producer + " needs at least " + least + " bytes", parser);
        }
        if (settings.poisson && settings.closedLoop) {
            throw new ArgumentParserException("argument --arrivals: observed poisson with --unanswered-kib; a closed loop"
                + " sends when there is room, not at times that are drawn", parser);
        }
        if (settings.transactionRecords > 0 && settings.connections > 1) {
            throw new ArgumentParserException("argument --transaction-records: observed with " + settings.connections
                + " --connections; a transaction is of one producer", parser);
        }
        if (settings.abortEvery > 0 && settings.transactionRecords == 0) {
            throw new ArgumentParserException("argument --abort-every: observed without --transaction-records, so that"
                + " there is nothing to abort", parser);
        }
        if (!settings.histogram && settings.capacity() > SendLog.MAX_RECORDS) {
            throw new ArgumentParserException("the record file would be too large: observed " + settings.capacity()
                + " records from --rate times --duration; lower one of them", parser);
        }
        return settings;
    }

    private static int orZero(Integer value) {
        return value == null ? 0 : value;
    }

    private static Properties kafka(Namespace options) {
        Properties p = new Properties();
        p.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, options.getString("bootstrap"));
        p.put(ProducerConfig.CLIENT_ID_CONFIG, "load-" + options.getString("producer"));
        p.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class.getName());
        p.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class.getName());
        p.put(ProducerConfig.ACKS_CONFIG, options.getString("acks"));
        int linger = options.getInt("linger_ms");
        p.put(ProducerConfig.LINGER_MS_CONFIG, Integer.toString(linger));
        // A full buffer or missing metadata must not hold up the schedule: the send then fails quickly and is
        // counted, and what it still cost shows as send lag of the records after it.
        // A closed loop waits for room instead.
        Integer kib = options.getInt("unanswered_kib");
        p.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, kib != null ? "60000" : "50");
        p.put(ProducerConfig.BUFFER_MEMORY_CONFIG, Long.toString((kib != null ? kib : OPEN_KIB) << 10));
        String retries = options.getString("retries");
        if (retries != null) {
            p.put(ProducerConfig.RETRIES_CONFIG, retries);
            if (retries.equals("0")) {
                p.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, "false");
            }
        }
        if (options.getString("idempotence") != null) {
            p.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, options.getString("idempotence"));
        }
        Integer delivery = options.getInt("delivery_timeout_ms");
        if (delivery != null) {
            p.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, delivery.toString());
            p.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG,
                Integer.toString(Math.max(1, Math.min(DEFAULT_REQUEST_TIMEOUT_MS, delivery - linger))));
        }
        if (options.getString("request_timeout_ms") != null) {
            p.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, options.getString("request_timeout_ms"));
        }
        p.putAll(OptionTypes.properties(options));
        return p;
    }
}
