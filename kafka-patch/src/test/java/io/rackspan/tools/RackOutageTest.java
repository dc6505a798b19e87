// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.NotEnoughRacksException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.test.KafkaClusterTestKit;
import org.apache.kafka.common.test.TestKitNodes;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.test.TestUtils;
import org.apache.kafka.tools.ToolsTestUtils;
import org.apache.kafka.tools.TopicCommand;

import org.junit.jupiter.api.Test;

import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** A KRaft cluster in one process: brokers 0, 1, 2 in racks a, b, c, and one controller. */
final class RackOutageTest {

    private static KafkaClusterTestKit cluster(String... racks) throws Exception {
        Map<Integer, Map<String, String>> properties = new HashMap<>();
        for (int id = 0; id < racks.length; id++)
            properties.put(id, racks[id] == null ? Map.of() : Map.of("broker.rack", racks[id]));
        KafkaClusterTestKit kit = new KafkaClusterTestKit.Builder(new TestKitNodes.Builder()
            .setNumBrokerNodes(racks.length).setNumControllerNodes(1).setPerServerProperties(properties).build())
            .setConfigProp("offsets.topic.replication.factor", "3")
            .build();
        kit.format();
        kit.startup();
        kit.waitForReadyBrokers();
        return kit;
    }

    private static NewTopic topic(String name, List<Integer> replicas, String minRacks) {
        return new NewTopic(name, Map.of(0, replicas)).configs(minRacks == null ? Map.of() : Map.of("min.insync.racks", minRacks));
    }

    private static void alter(Admin admin, ConfigResource.Type type, String name, String value) throws Exception {
        AlterConfigOp.OpType op = value == null ? AlterConfigOp.OpType.DELETE : AlterConfigOp.OpType.SET;
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(type, name),
            List.of(new AlterConfigOp(new ConfigEntry("min.insync.racks", value), op)))).all().get();
    }

    private static KafkaProducer<String, String> producer(KafkaClusterTestKit kit, int deliveryTimeoutMs) {
        return new KafkaProducer<>(Map.of("bootstrap.servers", kit.bootstrapServers(), "acks", "all",
            "delivery.timeout.ms", deliveryTimeoutMs, "request.timeout.ms", 1000, "linger.ms", 0, "max.block.ms", 60_000),
            new StringSerializer(), new StringSerializer());
    }

    /** The topics that kafka-topics.sh --describe lists with this option. */
    private static Set<String> described(KafkaClusterTestKit kit, String option) throws Exception {
        return Pattern.compile("Topic: (\\S+)\tPartition:").matcher(describe(kit, option)).results().map(m -> m.group(1))
            .collect(Collectors.toCollection(TreeSet::new));
    }

    private static String describe(KafkaClusterTestKit kit, String option) throws Exception {
        Method execute = TopicCommand.class.getDeclaredMethod("execute", String[].class);
        execute.setAccessible(true);
        String[] arguments = {"--bootstrap-server", kit.bootstrapServers(), "--describe", option};
        // The command ends its process
        int[] exitCode = {-1};
        Exit.setExitProcedure((code, message) -> exitCode[0] = code);
        String out;
        try {
            out = ToolsTestUtils.captureStandardOut(() -> {
                try {
                    execute.invoke(null, (Object) arguments);
                } catch (ReflectiveOperationException e) {
                    throw new AssertionError(e);
                }
            });
        } finally {
            Exit.resetExitProcedure();
        }
        assertEquals(0, exitCode[0], out);
        return out;
    }

    private static void awaitIsr(Admin admin, String topic, int size) throws Exception {
        TestUtils.waitForCondition(() -> admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().get(0).isr().size() == size,
            30_000, "ISR of " + topic + " did not come to have " + size + " members");
    }

    @Test
    void clientsAndCommandReportAnOutage() throws Exception {
        try (KafkaClusterTestKit kit = cluster("a", "b", "c"); Admin admin = kit.admin()) {
            admin.createTopics(List.of(topic("three", List.of(0, 1, 2), "3"), topic("two", List.of(0, 1, 2), "2"), topic("any", List.of(0, 1, 2), null),
                topic("narrow", List.of(0, 1), "3"))).all().get();
            assertEquals(Set.of("three"), described(kit, "--at-min-rack-isr-partitions"));
            assertEquals(Set.of("narrow"), described(kit, "--under-min-rack-isr-partitions"));
            List<String> differing = describe(kit, "--exclude-internal").lines().filter(line -> line.contains("effective")).toList();
            assertEquals(1, differing.size(), "lines: " + differing);
            assertTrue(differing.get(0).startsWith("\tTopic: narrow\tPartition: 0\t") && differing.get(0).endsWith("\tMinInSyncRacks: 3 (effective 2, acks=all is refused)"),
                differing.get(0));

            kit.brokers().get(2).shutdown();
            awaitIsr(admin, "three", 2);
            awaitIsr(admin, "two", 2);
            assertEquals(Set.of("two"), described(kit, "--at-min-rack-isr-partitions"));
            assertEquals(Set.of("narrow", "three"), described(kit, "--under-min-rack-isr-partitions"));

            try (KafkaProducer<String, String> hasty = producer(kit, 2500); KafkaProducer<String, String> patient = producer(kit, 60_000)) {
                hasty.send(new ProducerRecord<>("two", "warm")).get();
                ExecutionException failed = assertThrows(ExecutionException.class, () -> hasty.send(new ProducerRecord<>("three", "v")).get());
                assertInstanceOf(TimeoutException.class, failed.getCause());
                NotEnoughRacksException reason = assertInstanceOf(NotEnoughRacksException.class, failed.getCause().getCause());
                assertTrue(reason.getMessage().startsWith("Partition three-0 has in-sync replicas"), reason.getMessage());
                assertTrue(reason.getMessage().endsWith("No replica is in sync in rack(s) [c]."), reason.getMessage());
                hasty.send(new ProducerRecord<>("two", "v")).get();
                hasty.send(new ProducerRecord<>("any", "v")).get();

                Future<RecordMetadata> waiting = patient.send(new ProducerRecord<>("three", "v"));
                alter(admin, ConfigResource.Type.TOPIC, "three", "2");
                assertEquals(0, waiting.get(30, TimeUnit.SECONDS).offset(), "nothing was appended while it was refused");
            }
        }
    }

    private static void assertRefused(String part, org.junit.jupiter.api.function.Executable change) {
        ExecutionException e = assertThrows(ExecutionException.class, change);
        assertInstanceOf(InvalidConfigurationException.class, e.getCause());
        assertTrue(e.getCause().getMessage().contains(part), e.getCause().getMessage());
    }

    @Test
    void impossibleChangesAreRefused() throws Exception {
        try (KafkaClusterTestKit kit = cluster("a", "b", null); Admin admin = kit.admin()) {
            String noRack = "brokers [2] have no broker.rack";
            assertRefused(noRack, () -> admin.createTopics(List.of(topic("t", List.of(0, 1), "2"))).all().get());
            admin.createTopics(List.of(topic("t", List.of(0, 1), "1"))).all().get();
            assertRefused(noRack, () -> alter(admin, ConfigResource.Type.TOPIC, "t", "2"));
            assertRefused("Value must be at least 1", () -> alter(admin, ConfigResource.Type.TOPIC, "t", "0"));
            assertRefused("Broker-level min.insync.racks cannot be altered while ELR is enabled", () -> alter(admin, ConfigResource.Type.BROKER, "0", "2"));
            ExecutionException cluster = assertThrows(ExecutionException.class, () -> alter(admin, ConfigResource.Type.BROKER, "", "2"));
            assertTrue(cluster.getCause().getMessage().contains("no broker.rack"), cluster.getCause().getMessage());
        }
    }

    @Test
    void theClusterDefaultReachesTopicsAndInternalTopics() throws Exception {
        try (KafkaClusterTestKit kit = cluster("a", "b", "c"); Admin admin = kit.admin()) {
            admin.createTopics(List.of(topic("t", List.of(0, 1), null))).all().get();
            alter(admin, ConfigResource.Type.BROKER, "", "2");
            TestUtils.waitForCondition(() -> described(kit, "--at-min-rack-isr-partitions").equals(Set.of("t")), "t did not follow the cluster default");
            alter(admin, ConfigResource.Type.BROKER, "", null);
            TestUtils.waitForCondition(() -> described(kit, "--at-min-rack-isr-partitions").isEmpty(), "t did not follow the removed default");
        }
    }
}
