package io.rackspan.load;

import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.ByteArraySerializer;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.Set;

/** What one producing run shall do. Times are seconds unless the name says otherwise. */
record ProduceSettings(String producer, String topic, Path out, Path stopFile, double rate, double duration, int size,
                       int connections, boolean closedLoop, String spread, double readySeconds, double closeSeconds,
                       boolean control, boolean startPaused, boolean histogram, boolean consume, Properties kafka) {

    static final int MAX_PRODUCER_NAME = 31;
    private static final int MAX_CONNECTIONS = 100;
    private static final int MAX_KIB = 1_000_000;
    private static final int OPEN_KIB = 64 << 10;
    private static final int DEFAULT_REQUEST_TIMEOUT_MS = 30_000;
    private static final Set<String> KNOWN = Set.of("bootstrap", "topic", "producer", "out", "stop-file", "rate",
        "duration", "size", "connections", "unanswered-kib", "spread", "ready-seconds", "close-seconds", "control", "start", "acks", "record", "consume",
        "linger-ms", "retries", "delivery-timeout-ms", "request-timeout-ms", "idempotence");

    /** Where the records go that the process itself consumes, unless they are counted. */
    Path consumed() {
        return out.resolveSibling(out.getFileName() + ".polls");
    }

    static ProduceSettings parse(String[] args) {
        Options options = new Options(args, KNOWN);
        String producer = options.required("producer");
        int nameBytes = producer.getBytes(StandardCharsets.UTF_8).length;
        if (nameBytes > MAX_PRODUCER_NAME || nameBytes == 0) {
            throw new Options.UsageException("bad --producer: saw " + nameBytes + " bytes; give 1 to "
                + MAX_PRODUCER_NAME);
        }
        int size = (int) options.positive("size", 200);
        if (size < Payload.minimumSize(producer)) {
            throw new Options.UsageException("bad --size: saw " + size + "; a record of producer " + producer
                + " needs at least " + Payload.minimumSize(producer) + " bytes");
        }
        String spread = options.text("spread", "round-robin");
        if (!spread.matches("round-robin|sticky|keyed|\\d{1,9}")) {
            throw new Options.UsageException("bad --spread: saw '" + spread
                + "'; give round-robin, sticky, keyed or the number of one partition");
        }
        int connections = options.integer("connections", 1, MAX_CONNECTIONS);
        for (String choice : List.of("record: records histogram", "consume: no yes")) {
            String name = choice.substring(0, choice.indexOf(':'));
            List<String> known = List.of(choice.substring(choice.indexOf(' ') + 1).split(" "));
            if (!known.contains(options.text(name, known.get(0)))) {
                throw new Options.UsageException("bad --" + name + ": saw '" + options.text(name, "") + "'; give "
                    + String.join(" or ", known));
            }
        }
        return new ProduceSettings(producer, options.required("topic"), Path.of(options.required("out")),
            options.has("stop-file") ? Path.of(options.required("stop-file")) : null,
            options.positive("rate", 100), options.positive("duration", 3600), size,
            connections, options.has("unanswered-kib"), spread, options.positive("ready-seconds", 30),
            options.positive("close-seconds", 10), options.text("control", "none").equals("stdin"),
            options.text("start", "running").equals("paused"), options.text("record", "").equals("histogram"),
            options.text("consume", "").equals("yes"), kafka(options));
    }

    private static Properties kafka(Options options) {
        Properties p = new Properties();
        p.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, options.required("bootstrap"));
        p.put(ProducerConfig.CLIENT_ID_CONFIG, "load-" + options.required("producer"));
        p.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class.getName());
        p.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class.getName());
        p.put(ProducerConfig.ACKS_CONFIG, options.text("acks", "all"));
        p.put(ProducerConfig.LINGER_MS_CONFIG, options.text("linger-ms", "0"));
        // A full buffer or missing metadata must not hold up the schedule: the send then fails quickly and is
        // counted, and what it still cost shows as send lag of the records after it.
        // A closed loop waits for room instead.
        p.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, options.has("unanswered-kib") ? "60000" : "50");
        long kib = options.integer("unanswered-kib", OPEN_KIB, MAX_KIB);
        p.put(ProducerConfig.BUFFER_MEMORY_CONFIG, Long.toString(kib << 10));
        if (options.has("retries")) {
            p.put(ProducerConfig.RETRIES_CONFIG, options.required("retries"));
            if (options.required("retries").equals("0")) {
                p.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, "false");
            }
        }
        if (options.has("idempotence")) {
            p.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, options.required("idempotence"));
        }
        if (options.has("delivery-timeout-ms")) {
            int delivery = (int) options.positive("delivery-timeout-ms", 0);
            int linger = Integer.parseInt(options.text("linger-ms", "0"));
            p.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, Integer.toString(delivery));
            p.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG,
                Integer.toString(Math.max(1, Math.min(DEFAULT_REQUEST_TIMEOUT_MS, delivery - linger))));
        }
        if (options.has("request-timeout-ms")) {
            p.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, options.required("request-timeout-ms"));
        }
        p.putAll(options.properties());
        return p;
    }
}
