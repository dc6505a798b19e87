// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.LogCaptureAppender;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;

import com.yammer.metrics.core.Gauge;
import com.yammer.metrics.core.Meter;
import com.yammer.metrics.core.Metric;
import com.yammer.metrics.core.MetricName;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

final class RackMetricsTest {

    private static final List<String> PARTITION = List.of("UnderMinRackIsr", "AtMinRackIsr", "IsrRackCount");
    private static final Set<String> BROKER = Set.of("UnderMinRackIsrPartitionCount", "AtMinRackIsrPartitionCount", "DegradedMinRackIsrPartitionCount",
        "RackCheckFailureRate");

    private static String partitionBean(String name) {
        return "kafka.cluster:type=Partition,name=" + name + ",topic=orders,partition=0";
    }

    private static String brokerBean(String name) {
        return "kafka.server:type=ReplicaManager,name=" + name;
    }

    private static Metric metric(String bean) {
        return KafkaYammerMetrics.defaultRegistry().allMetrics().entrySet().stream()
            .filter(e -> e.getKey().getMBeanName().equals(bean)).map(Map.Entry::getValue).findFirst().orElseThrow(() -> new AssertionError("no " + bean));
    }

    private static Object gauge(String bean) {
        return ((Gauge<?>) metric(bean)).value();
    }

    private static List<Object> partitionGauges() {
        return PARTITION.stream().map(name -> gauge(partitionBean(name))).collect(Collectors.toList());
    }

    private static Set<String> registered() {
        return KafkaYammerMetrics.defaultRegistry().allMetrics().keySet().stream().map(MetricName::getName)
            .filter(name -> PARTITION.contains(name) || BROKER.contains(name)).collect(Collectors.toCollection(TreeSet::new));
    }

    private static long failures() {
        return ((Meter) metric(brokerBean("RackCheckFailureRate"))).count();
    }

    @Test
    void gaugesFollowTheIsr() throws Exception {
        try (LeaderFixture broker = new LeaderFixture(Map.of())) {
            broker.brokers("a", "a", "b", "c");
            broker.lead(List.of(1, 2, 3, 4), Map.of("min.insync.racks", "2"));
            assertEquals(List.of(0, 0, 3), partitionGauges());
            broker.controllerChangesIsr(List.of(1, 2, 3));
            assertEquals(List.of(0, 1, 2), partitionGauges());
            assertEquals(1, gauge(brokerBean("AtMinRackIsrPartitionCount")));
            assertEquals(0, gauge(brokerBean("UnderMinRackIsrPartitionCount")));
            broker.controllerChangesIsr(List.of(1, 2));
            assertEquals(List.of(1, 0, 1), partitionGauges());
            assertEquals(0, gauge(brokerBean("AtMinRackIsrPartitionCount")));
            assertEquals(1, gauge(brokerBean("UnderMinRackIsrPartitionCount")));
            broker.topicConfig("min.insync.racks", "1");
            assertEquals(List.of(0, 0, 1), partitionGauges(), "a partition that requires no racks shows no alarm");
            broker.topicConfig("min.insync.racks", "5");
            assertEquals(List.of(1, 0, 1), partitionGauges(), "asking for more racks than there are is shown");
        }
    }

    @Test
    void partitionsOfDegradedTopicsAreCountedWhereTheyAreLed() throws Exception {
        try (LeaderFixture broker = new LeaderFixture(Map.of())) {
            broker.brokers("a", "b");
            broker.lead(List.of(1, 2), Map.of("min.insync.racks", "1"));
            assertEquals(0, gauge(brokerBean("DegradedMinRackIsrPartitionCount")));
            broker.topicConfig("min.insync.racks.degrade", "to=1,from=2,since=2026-01-01T00:00:00Z,until=2026-01-02T00:00:00Z,by=User:ann,reason=x");
            assertEquals(1, gauge(brokerBean("DegradedMinRackIsrPartitionCount")));
            broker.publish(broker.electing(-1));
            assertEquals(0, gauge(brokerBean("DegradedMinRackIsrPartitionCount")));
        }
    }

    @Test
    void theDefaultNeverAlarms() throws Exception {
        try (LeaderFixture broker = new LeaderFixture(Map.of())) {
            broker.brokers("a", "a", "a");
            broker.lead(List.of(1, 2, 3), Map.of());
            assertEquals(List.of(0, 0, 1), partitionGauges());
            broker.controllerChangesIsr(List.of(1));
            assertEquals(List.of(0, 0, 1), partitionGauges());
            assertEquals(0, gauge(brokerBean("AtMinRackIsrPartitionCount")));
        }
    }

    /** A number there would be the minimum over all brokers. */
    @Test
    void followersHaveNoNumberOfRacks() throws Exception {
        try (LeaderFixture broker = new LeaderFixture(Map.of())) {
            broker.brokers("a", "b");
            broker.lead(List.of(1, 2), Map.of("min.insync.racks", "2"));
            assertEquals(2, gauge(partitionBean("IsrRackCount")));
            broker.publish(broker.electing(-1));
            assertNull(gauge(partitionBean("IsrRackCount")));
            assertEquals(List.of(0, 0), partitionGauges().subList(0, 2));
        }
    }

    @Test
    void eachRefusalIsCountedOnce() throws Exception {
        try (LeaderFixture broker = new LeaderFixture(Map.of())) {
            broker.brokers("a", "a", "b");
            broker.lead(List.of(1, 2, 3), Map.of("min.insync.racks", "2"));
            long before = failures();
            broker.produce(-1);
            broker.produce(-1);
            broker.controllerChangesIsr(List.of(1, 2));
            assertEquals(2, failures() - before, "two that waited");
            broker.produce(-1);
            assertEquals(3, failures() - before, "one that was not appended");
            broker.produce(1);
            assertEquals(3, failures() - before);
        }
    }

    @Test
    void metricsGoWithThePartitionAndWithTheBroker() throws Exception {
        LeaderFixture broker = new LeaderFixture(Map.of());
        try {
            broker.brokers("a", "b");
            broker.lead(List.of(1, 2), Map.of("min.insync.racks", "2"));
            Set<String> all = new TreeSet<>(BROKER);
            all.addAll(PARTITION);
            assertEquals(all, registered());
            broker.deleteTopic();
            assertEquals(new TreeSet<>(BROKER), registered());
        } finally {
            broker.close();
        }
        assertEquals(Set.of(), registered());
    }

    @Test
    void refusalsDoNotFloodTheLog() throws Exception {
        try (LeaderFixture broker = new LeaderFixture(Map.of()); LogCaptureAppender log = LogCaptureAppender.createAndRegister()) {
            broker.brokers("a", "a", "b");
            broker.lead(List.of(1, 2, 3), Map.of("min.insync.racks", "2"));
            broker.controllerChangesIsr(List.of(1, 2));
            for (int i = 0; i < 200; i++)
                assertEquals(Errors.NOT_ENOUGH_RACKS, broker.produce(-1).join().error);
            List<LogCaptureAppender.Event> lines = log.getEvents().stream()
                .filter(e -> e.getMessage().contains("min.insync.racks is 2") || e.getMessage().contains("Error processing append")).toList();
            assertEquals(1, lines.size(), "lines: " + lines.stream().map(LogCaptureAppender.Event::getMessage).toList());
            assertEquals("WARN", lines.get(0).getLevel());
            assertEquals(true, lines.get(0).getThrowableInfo().isEmpty(), "no stack trace");
            broker.time.sleep(RefusalLog.PERIOD_MS);
            broker.produce(-1);
            assertEquals(1, log.getMessages().stream().filter(m -> m.endsWith("Refused 200 append(s) since the last such line.")).count());
        }
    }
}
