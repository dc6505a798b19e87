// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.message.DescribeTopicPartitionsResponseData.DescribeTopicPartitionsResponsePartition;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;

import io.rackspan.protocol.Electable;

import com.yammer.metrics.core.Gauge;
import com.yammer.metrics.core.Meter;
import com.yammer.metrics.core.Metric;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

/** Metrics of electable sets, at level 2. Replicas 1, 2, 3, two of them required. */
final class ElectableMetricsTest {

    private static final String COUNT = "kafka.cluster:type=Partition,name=ElectableReplicaCount,topic=orders,partition=0";
    private static final String SETS = "kafka.server:type=ReplicaManager,name=PartitionsWithElectableSet";
    private static final String WAIT = "kafka.server:type=ReplicaManager,name=ElectableSetMaxWaitMs";
    private static final String CHANGES = "kafka.server:type=ReplicaManager,name=ElectableSetChangesPerSec";

    private final LeaderFixture broker = new LeaderFixture(Map.of());

    ElectableMetricsTest() throws Exception {
    }

    private static Metric metric(String bean) {
        return KafkaYammerMetrics.defaultRegistry().allMetrics().entrySet().stream()
            .filter(e -> e.getKey().getMBeanName().equals(bean)).map(Map.Entry::getValue).findFirst().orElseThrow(() -> new AssertionError("no " + bean));
    }

    private static Object gauge(String bean) {
        return ((Gauge<?>) metric(bean)).value();
    }

    private static long changes() {
        return ((Meter) metric(CHANGES)).count();
    }

    private static Set<String> registered() {
        return KafkaYammerMetrics.defaultRegistry().allMetrics().keySet().stream().map(name -> name.getMBeanName())
            .filter(name -> name.contains("Electable")).collect(Collectors.toCollection(TreeSet::new));
    }

    private void lead() {
        broker.brokers("a", "b", "c");
        broker.publish(LeaderFixture.level(2));
        broker.lead(List.of(1, 2, 3), Map.of("min.insync.replicas", "2"));
        broker.everyoneFetches();
    }

    @Test
    void aSetIsCountedWhenTheControllerHasAcceptedIt() throws Exception {
        try (broker) {
            lead();
            broker.produce(1);
            assertEquals(List.of(0, 0L), List.of(gauge(SETS), changes()));
            assertNull(gauge(COUNT), "no set");
            broker.produce(-2);
            assertEquals(List.of(0, 0L), List.of(gauge(SETS), changes()), "proposed");
            broker.controllerNotes();
            assertEquals(List.of(1, 2, 1L), List.of(gauge(SETS), gauge(COUNT), changes()));
            broker.publish(set(Electable.of(List.of(1, 2, 3)).withUnclean(3)));
            assertEquals(List.of(1, 2, 1L), List.of(gauge(SETS), gauge(COUNT), changes()), "changed by the controller");
            broker.publish(broker.electing(-1));
            assertEquals(0, gauge(SETS));
            assertNull(gauge(COUNT), "not the leader");
        }
    }

    private PartitionChangeRecord set(Electable set) {
        return set.intoChange(broker.electing(1));
    }

    @Test
    void aSetThatTheControllerRefusesIsNoChange() throws Exception {
        try (broker) {
            lead();
            broker.produce(-2);
            broker.alterPartition.failIsrUpdate(Errors.INELIGIBLE_REPLICA);
            assertEquals(List.of(0, 0L), List.of(gauge(SETS), changes()));
        }
    }

    @Test
    void requestsWaitForASetUntilItIsAccepted() throws Exception {
        try (broker) {
            lead();
            assertEquals(0L, gauge(WAIT));
            broker.time.sleep(1_000);
            broker.produce(-2);
            broker.time.sleep(70);
            broker.produce(-2);
            assertEquals(70L, gauge(WAIT), "since the first of them");
            broker.controllerNotes();
            assertEquals(0L, gauge(WAIT), "they wait for its members only");
        }
    }

    @Test
    void whatNobodyWaitsForIsNoWait() throws Exception {
        try (broker) {
            lead();
            broker.produce(-2);
            broker.time.sleep(70);
            broker.everyoneFetches();
            assertEquals(0L, gauge(WAIT), "answered by the high watermark");
            broker.time.sleep(1_000);
            broker.produce(-2);
            broker.time.sleep(5);
            assertEquals(5L, gauge(WAIT));
            broker.publish(broker.electing(-1));
            assertEquals(0L, gauge(WAIT), "not the leader");
        }
    }

    @Test
    void metricsGoWithThePartitionAndWithTheBroker() throws Exception {
        try (broker) {
            lead();
            assertEquals(Set.of(COUNT, SETS, WAIT, CHANGES), registered());
            broker.deleteTopic();
            assertEquals(Set.of(SETS, WAIT, CHANGES), registered());
        }
        assertEquals(Set.of(), registered());
    }

    @Test
    void descriptionsOfTopicsHaveTheSet() throws Exception {
        try (broker) {
            lead();
            broker.publish(set(Electable.of(List.of(1, 3)).withUnclean(3)));
            DescribeTopicPartitionsResponsePartition described = broker.cache.describeTopicResponse(List.of(LeaderFixture.TOPIC).iterator(),
                ListenerName.normalised("PLAINTEXT"), topic -> 0, 10, false).topics().iterator().next().partitions().get(0);
            assertEquals(Electable.of(List.of(1, 3)).withUnclean(3), Electable.in(described, Electable.NONE));
        }
    }
}
