// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** Reads a topic from its start to the end offsets that it had at the beginning, into a {@link ReadLog}. */
final class ReadRun {

    private static final Duration POLL = Duration.ofMillis(200);

    private final ReadSettings settings;
    private final Caller caller;
    private final Control control;
    private final Clock clock = Clock.anchor();
    private long rows;

    ReadRun(ReadSettings settings, Caller caller) {
        this.settings = settings;
        this.caller = caller;
        this.control = new Control(caller, false);
    }

    int run() throws IOException {
        try (ReadLog out = new ReadLog(settings.out(), settings.topic(), clock);
             KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings.kafka())) {
            if (caller.connected()) {
                control.readLines();
            }
            Duration limit = Duration.ofMillis((long) (settings.idleSeconds() * 1000));
            List<PartitionInfo> found = consumer.partitionsFor(settings.topic(), limit);
            metadata(found);
            List<TopicPartition> partitions = found.stream()
                .map(p -> new TopicPartition(p.topic(), p.partition())).toList();
            if (partitions.isEmpty()) {
                System.err.println("cannot read back: topic " + settings.topic() + " has no partitions at "
                    + settings.kafka().get(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG) + "; check its name");
                return LoadMain.FAILED;
            }
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions, limit);
            boolean complete = readAll(consumer, ends, out);
            summary(consumer, ends, complete);
            return complete ? LoadMain.OK : LoadMain.TIMED_OUT;
        }
    }

    private boolean readAll(KafkaConsumer<byte[], byte[]> consumer, Map<TopicPartition, Long> ends, ReadLog out)
        throws IOException {
        long quietSince = System.nanoTime();
        while (ends.entrySet().stream().anyMatch(e -> consumer.position(e.getKey()) < e.getValue())) {
            if (control.stopped()) {
                return false;
            }
            ConsumerRecords<byte[], byte[]> batch = consumer.poll(POLL);
            long now = System.nanoTime();
            if (!batch.isEmpty()) {
                quietSince = now;
                for (ConsumerRecord<byte[], byte[]> record : batch) {
                    if (record.offset() < ends.get(new TopicPartition(record.topic(), record.partition()))) {
                        out.add(record, Payload.parse(record.value()), now);
                        rows++;
                    }
                }
            } else if (now - quietSince > settings.idleSeconds() * 1e9) {
                System.err.println("read back stopped short: no record for " + settings.idleSeconds() + " s after "
                    + rows + " rows; check that every partition has a leader, then read again");
                return false;
            }
        }
        return true;
    }

    /** Prints the metadata of the topic as the client has it. */
    private void metadata(List<PartitionInfo> found) {
        List<Map<String, Object>> partitions = new ArrayList<>();
        Set<Integer> brokers = new TreeSet<>();
        for (PartitionInfo p : found) {
            List<Integer> replicas = Arrays.stream(p.replicas()).map(Node::id).toList();
            brokers.addAll(replicas);
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("partition", p.partition());
            one.put("leader", p.leader() == null ? -1 : p.leader().id());
            one.put("replicas", replicas);
            partitions.add(one);
        }
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("event", "metadata");
        line.put("brokers", brokers);
        line.put("partitions", partitions);
        caller.status(line);
    }

    private void summary(KafkaConsumer<byte[], byte[]> consumer, Map<TopicPartition, Long> ends, boolean complete) {
        Map<String, Object> offsets = new TreeMap<>();
        ends.forEach((partition, end) -> offsets.put(Integer.toString(partition.partition()), end));
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("event", "summary");
        line.put("topic", settings.topic());
        line.put("t_ns", clock.epoch(System.nanoTime()));
        line.put("isolation", settings.kafka().get(ConsumerConfig.ISOLATION_LEVEL_CONFIG));
        line.put("rows", rows);
        line.put("complete", complete);
        line.put("end_offsets", offsets);
        caller.status(line);
    }
}
