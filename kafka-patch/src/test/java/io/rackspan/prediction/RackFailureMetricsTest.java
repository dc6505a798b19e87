// SPDX-License-Identifier: Apache-2.0
package io.rackspan.prediction;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;
import org.apache.kafka.test.TestUtils;

import com.yammer.metrics.core.Gauge;

import io.rackspan.protocol.Electable;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

/** The gauges of the active controller 9: brokers 1, 2 and 3 in racks a, b and c. */
final class RackFailureMetricsTest {

    private static final Uuid T = new Uuid(1, 1);
    private static final Uuid U = new Uuid(1, 2);

    private final RackFailureMetrics metrics = new RackFailureMetrics(9, Map.of("min.insync.replicas", "1"), 10);
    private MetadataImage image = MetadataImage.EMPTY;

    @AfterEach
    void close() {
        metrics.close();
        assertEquals(Map.of(), gauges(), "none is left");
        assertNull(lacking(), "none is left");
    }

    private void publish(ApiMessage... records) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        Stream.of(records).forEach(delta::replay);
        image = delta.apply(MetadataProvenance.EMPTY);
        metrics.onMetadataUpdate(delta, image, null);
    }

    private static RegisterBrokerRecord broker(int id, String rack) {
        return new RegisterBrokerRecord().setBrokerId(id).setBrokerEpoch(id).setRack(rack).setFenced(false).setIncarnationId(new Uuid(2, id));
    }

    private static PartitionRecord partition(Uuid topic, Integer... replicas) {
        return new PartitionRecord().setTopicId(topic).setPartitionId(0).setReplicas(List.of(replicas)).setIsr(List.of(replicas)).setLeader(replicas[0])
            .setDirectories(Stream.of(replicas).map(id -> new Uuid(3, id)).toList());
    }

    private static ConfigRecord setting(String topic, String name, String value) {
        return new ConfigRecord().setResourceType(ConfigResource.Type.TOPIC.id()).setResourceName(topic).setName(name).setValue(value);
    }

    /** The values by the end of the name and the tags, as "Data,topic=t". */
    private static Map<String, Object> gauges() {
        return KafkaYammerMetrics.defaultRegistry().allMetrics().entrySet().stream().filter(e -> e.getKey().getName().startsWith("MaxRackFailures"))
            .collect(Collectors.toMap(e -> e.getKey().getMBeanName().replaceFirst(".*name=MaxRackFailuresWithoutLosing", ""), e -> ((Gauge<?>) e.getValue()).value()));
    }

    /** The partitions of which no member of the electable set may lead; null without the gauge. */
    private static Object lacking() {
        return KafkaYammerMetrics.defaultRegistry().allMetrics().entrySet().stream()
            .filter(e -> e.getKey().getMBeanName().equals("kafka.controller:type=KafkaController,name=PartitionsWithoutElectableReplicaCount"))
            .map(e -> ((Gauge<?>) e.getValue()).value()).findFirst().orElse(null);
    }

    private static void expectLacking(Object value) throws Exception {
        TestUtils.waitForCondition(() -> Objects.equals(lacking(), value), 30_000, () -> "partitions without an electable replica: " + value + ", not " + lacking());
    }

    private static PartitionChangeRecord change(Uuid topic, int leader, Electable set) {
        return set.intoChange(new PartitionChangeRecord().setTopicId(topic).setPartitionId(0).setLeader(leader));
    }

    private static void expect(Map<String, Object> values) throws Exception {
        TestUtils.waitForCondition(() -> gauges().equals(values), 30_000, () -> "the gauges " + values + ", they are " + gauges());
    }

    private void lead(int controller) {
        metrics.onControllerChange(new LeaderAndEpoch(OptionalInt.of(controller), 1));
    }

    @Test
    void theActiveControllerHasThemForTheClusterAndEachTopic() throws Exception {
        lead(9);
        publish(new FeatureLevelRecord().setName("rackspan.version").setFeatureLevel((short) 1),
            new FeatureLevelRecord().setName("eligible.leader.replicas.version").setFeatureLevel((short) 1), broker(1, "a"), broker(2, "b"), broker(3, "c"),
            new TopicRecord().setName("t").setTopicId(T), partition(T, 1, 2, 3), setting("t", "min.insync.racks", "2"), setting("t", "min.insync.replicas", "2"));
        expect(Map.of("Availability", 1, "Data", 2, "Availability,topic=t", 1, "Data,topic=t", 2));
        publish(new TopicRecord().setName("u").setTopicId(U), partition(U, 1));
        expect(Map.of("Availability", 0, "Data", 0, "Availability,topic=t", 1, "Data,topic=t", 2, "Availability,topic=u", 0, "Data,topic=u", 0));
        publish(new RemoveTopicRecord().setTopicId(U), new PartitionChangeRecord().setTopicId(T).setPartitionId(0).setIsr(List.of(1)));
        expect(Map.of("Availability", -1, "Data", 0, "Availability,topic=t", -1, "Data,topic=t", 0));
        lead(8);
        assertEquals(Map.of(), gauges(), "another one is active");
        lead(9);
        expect(Map.of("Availability", -1, "Data", 0, "Availability,topic=t", -1, "Data,topic=t", 0));
    }

    @Test
    void partitionsThatWaitForAMemberOfTheirElectableSetAreCounted() throws Exception {
        lead(9);
        Electable set = Electable.of(List.of(1, 2));
        publish(new FeatureLevelRecord().setName("rackspan.version").setFeatureLevel((short) 2), broker(1, "a"), broker(2, "b"),
            new TopicRecord().setName("t").setTopicId(T), partition(T, 1, 2, 3), new TopicRecord().setName("u").setTopicId(U), partition(U, 1, 2));
        expectLacking(0L);
        publish(change(T, 1, set), change(U, -1, Electable.NONE));
        expectLacking(0L);
        publish(change(T, -1, set), change(U, -1, set.withUnclean(1)));
        expectLacking(2L);
        publish(change(T, 2, set));
        expectLacking(1L);
        lead(8);
        assertNull(lacking(), "another one is active");
    }

    @Test
    void anotherControllerHasNone() throws Exception {
        lead(8);
        publish(broker(1, "a"), new TopicRecord().setName("t").setTopicId(T), partition(T, 1));
        Thread.sleep(200);
        assertEquals(Map.of(), gauges());
    }

    @Test
    void aClusterWithoutTopicsCanLoseAllItsRacks() throws Exception {
        lead(9);
        publish(broker(1, "a"), broker(2, "b"));
        expect(Map.of("Availability", 2, "Data", 2));
    }
}
