// SPDX-License-Identifier: Apache-2.0
package io.rackspan.producer;

import io.rackspan.protocol.MinInSync;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.MetadataRequestData;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.MetadataRequest;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.test.KafkaClusterTestKit;
import org.apache.kafka.common.test.TestKitNodes;
import org.apache.kafka.server.IntegrationTestUtils;
import org.apache.kafka.test.TestUtils;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Brokers 0, 1, 2 in racks a, a, b. Topic "replicas" requires two in-sync replicas, topic "racks" two racks. When broker 2 stops, both
 * partitions of "racks" and partition 1 of "replicas" lose them.
 */
final class ReadyPartitionsClusterTest {

    private static KafkaClusterTestKit cluster;
    private static Admin admin;

    @BeforeAll
    static void start() throws Exception {
        cluster = new KafkaClusterTestKit.Builder(new TestKitNodes.Builder().setNumBrokerNodes(3).setNumControllerNodes(1)
            .setPerServerProperties(Map.of(0, Map.of("broker.rack", "a"), 1, Map.of("broker.rack", "a"), 2, Map.of("broker.rack", "b"))).build()).build();
        cluster.format();
        cluster.startup();
        cluster.waitForReadyBrokers();
        admin = cluster.admin();
    }

    @AfterAll
    static void stop() throws Exception {
        admin.close();
        cluster.close();
    }

    private static KafkaProducer<String, String> producer(Map<String, Object> settings) {
        Map<String, Object> all = new HashMap<>(Map.of("bootstrap.servers", cluster.bootstrapServers(), "acks", "all", "batch.size", 100,
            "delivery.timeout.ms", 120_000, "request.timeout.ms", 30_000, "linger.ms", 0));
        all.putAll(settings);
        return new KafkaProducer<>(all, new StringSerializer(), new StringSerializer());
    }

    private static void awaitIsr(String topic, int partition, int size) throws Exception {
        TestUtils.waitForCondition(() -> admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().get(partition)
            .isr().size() == size, 60_000, "ISR of " + topic + "-" + partition + " did not come to have " + size + " members");
    }

    /** The partitions that acknowledged a number of records without keys. */
    private static Set<Integer> used(KafkaProducer<String, String> producer, String topic, int records) throws Exception {
        Set<Integer> partitions = new TreeSet<>();
        for (int i = 0; i < records; i++)
            partitions.add(producer.send(new ProducerRecord<>(topic, "v")).get(60, TimeUnit.SECONDS).partition());
        return partitions;
    }

    /** Takes the ready partitions in turn and records its arguments. */
    public static final class Custom implements Partitioner {
        static final Set<Boolean> REQUIRED = ConcurrentHashMap.newKeySet();
        private int next = 0;

        @Override
        public int partition(String topic, Object key, byte[] keyBytes, Object value, byte[] valueBytes, Cluster cluster) {
            throw new AssertionError("the producer knows the other method");
        }

        @Override
        public int partition(String topic, Object key, byte[] keyBytes, Object value, byte[] valueBytes, boolean required, Cluster cluster) {
            REQUIRED.add(required);
            List<org.apache.kafka.common.PartitionInfo> ready = cluster.readyPartitionsForTopic(topic);
            return ready.get(next++ % ready.size()).partition();
        }

        @Override
        public void close() {
        }

        @Override
        public void configure(Map<String, ?> configs) {
        }
    }

    @Test
    void partitionsOfAnOutageAreAvoidedUntilItEnds() throws Exception {
        admin.createTopics(List.of(
            new NewTopic("replicas", Map.of(0, List.of(0, 1), 1, List.of(0, 2))).configs(Map.of("min.insync.replicas", "2")),
            new NewTopic("racks", Map.of(0, List.of(0, 2), 1, List.of(1, 2))).configs(Map.of("min.insync.racks", "2")))).all().get();
        try (KafkaProducer<String, String> producer = producer(Map.of()); KafkaProducer<String, String> blind = producer(Map.of("acks", "1", "enable.idempotence", false));
             KafkaProducer<String, String> custom = producer(Map.of("partitioner.class", Custom.class.getName()))) {
            for (KafkaProducer<String, String> each : List.of(producer, blind, custom))
                assertEquals(Set.of(0, 1), used(each, "replicas", 100));
            assertEquals(Set.of(0, 1), used(producer, "racks", 100));

            cluster.brokers().get(2).shutdown();
            awaitIsr("replicas", 1, 1);
            awaitIsr("racks", 1, 1);
            awaitIsr("racks", 0, 1);
            // The keyed one shows the producer that its metadata is out of date. It stays where its key belongs.
            Future<RecordMetadata> keyed = producer.send(new ProducerRecord<>("replicas", keyOf(1), "v"));
            Future<RecordMetadata> without = custom.send(new ProducerRecord<>("replicas", 1, null, "v"));
            TestUtils.waitForCondition(() -> ready(producer) == 1 && ready(custom) == 1, 60_000, "the producers did not learn of it");
            assertEquals(Set.of(0), used(producer, "replicas", 200));
            assertEquals(Set.of(0), used(custom, "replicas", 50));
            assertEquals(Set.of(0, 1), used(blind, "replicas", 100));
            assertEquals(Set.of(true), Custom.REQUIRED);

            // No partition of "racks" is ready: the records wait wherever they are put.
            List<Future<RecordMetadata>> waiting = new ArrayList<>();
            for (int i = 0; i < 100; i++)
                waiting.add(producer.send(new ProducerRecord<>("racks", "v")));
            assertTrue(!keyed.isDone() && !without.isDone() && waiting.stream().noneMatch(Future::isDone), "a refused record was answered");

            cluster.brokers().get(2).startup();
            awaitIsr("replicas", 1, 2);
            TestUtils.waitForCondition(() -> ready(producer) == 2, 30_000, "the producer did not notice that the partition is ready again");
            assertEquals(Set.of(0, 1), used(producer, "replicas", 200));
            assertEquals(1, keyed.get(60, TimeUnit.SECONDS).partition());
            without.get(60, TimeUnit.SECONDS);
            Set<Integer> waited = new TreeSet<>();
            for (Future<RecordMetadata> each : waiting)
                waited.add(each.get(60, TimeUnit.SECONDS).partition());
            assertEquals(Set.of(0, 1), waited);
        }
    }

    /** The number of partitions of "replicas" that this producer takes for ready. */
    private static long ready(KafkaProducer<String, String> producer) {
        return producer.partitionsFor("replicas").stream().filter(org.apache.kafka.common.PartitionInfo::isReady).count();
    }

    private static String keyOf(int partition) {
        for (int i = 0; ; i++)
            if (org.apache.kafka.clients.producer.internals.BuiltInPartitioner.partitionForKey(("k" + i).getBytes(), 2) == partition)
                return "k" + i;
    }

    private static MinInSync reported(short version) throws Exception {
        MetadataRequestData request = new MetadataRequestData().setAllowAutoTopicCreation(true)
            .setTopics(List.of(new MetadataRequestData.MetadataRequestTopic().setName("reported")));
        int port = cluster.brokers().get(0).boundPort(cluster.nodes().brokerListenerName());
        MetadataResponse response = IntegrationTestUtils.connectAndReceive(new MetadataRequest(request, version), port);
        MetadataResponseTopic topic = response.data().topics().find("reported");
        return topic == null || topic.errorCode() != 0 ? null : MinInSync.declaredIn(topic);
    }

    @Test
    void everyFlexibleVersionReportsTheMinimums() throws Exception {
        admin.createTopics(List.of(new NewTopic("reported", Map.of(0, List.of(0, 1))).configs(Map.of("min.insync.racks", "3")))).all().get();
        TestUtils.waitForCondition(() -> reported((short) 9) != null, 30_000, "broker 0 did not learn of the topic");
        for (short version = ApiKeys.METADATA.oldestVersion(); version <= ApiKeys.METADATA.latestVersion(); version++)
            assertEquals(version < 9 ? MinInSync.UNKNOWN : MinInSync.of(1, 3), reported(version), "version " + version);
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.BROKER, ""),
            List.of(new AlterConfigOp(new ConfigEntry("min.insync.replicas", "2"), AlterConfigOp.OpType.SET)))).all().get();
        TestUtils.waitForCondition(() -> MinInSync.of(2, 3).equals(reported((short) 13)), 30_000, "the cluster default was not reported");
    }
}
