// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import kafka.cluster.Partition;

import org.apache.kafka.server.metrics.KafkaYammerMetrics;
import org.apache.kafka.storage.internals.log.AppendOrigin;

import com.yammer.metrics.core.Gauge;
import com.yammer.metrics.core.Histogram;
import com.yammer.metrics.core.Meter;
import com.yammer.metrics.core.Metric;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Metrics of requests by acks and of exposed records. Replicas 1, 2, 3, two of them required. */
final class AcksMetricsTest {

    private static final List<Integer> ALL = List.of(1, 2, 3);
    private static final String PARTITION = "kafka.cluster:type=Partition,name=AckedAboveHighWatermark%s,topic=orders,partition=0";
    private static final String BROKER = "kafka.server:type=ReplicaManager,name=AckedAboveHighWatermark%s";
    private static final String ACKS = "kafka.server:type=ProduceAcks,name=%s,acks=%s";

    private static Metric metric(String bean, Object... parts) {
        String name = String.format(bean, parts);
        return KafkaYammerMetrics.defaultRegistry().allMetrics().entrySet().stream()
            .filter(e -> e.getKey().getMBeanName().equals(name)).map(Map.Entry::getValue).findFirst().orElseThrow(() -> new AssertionError("no " + name));
    }

    private static long gauge(String bean, Object... parts) {
        return (Long) ((Gauge<?>) metric(bean, parts)).value();
    }

    private static List<Long> requests() {
        return List.of("0", "1", "all", "min.insync.replicas").stream().map(acks -> ((Meter) metric(ACKS, "RequestsPerSec", acks)).count()).toList();
    }

    private static LeaderFixture broker() throws Exception {
        LeaderFixture broker = new LeaderFixture(Map.of());
        broker.brokers("a", "b", "c");
        return broker;
    }

    private static Set<String> registered() {
        return KafkaYammerMetrics.defaultRegistry().allMetrics().keySet().stream().map(name -> name.getMBeanName())
            .filter(name -> name.contains("AckedAbove") || name.contains("ProduceAcks")).collect(Collectors.toCollection(TreeSet::new));
    }

    @Test
    void requestsAreCountedWhenTheyAreAnsweredUnderWhatTheClientSent() throws Exception {
        try (LeaderFixture broker = broker()) {
            broker.lead(ALL, Map.of("min.insync.replicas", "2", "acks.all.scope", "min.insync.replicas"));
            broker.produce(0);
            broker.produce(1);
            broker.produce(1);
            assertEquals(List.of(1L, 2L, 0L, 0L), requests());
            broker.produce(-2);
            broker.produce(-1);
            assertEquals(List.of(1L, 2L, 0L, 0L), requests(), "not answered yet");
            broker.time.sleep(70);
            broker.fetch(2, broker.logEnd());
            assertEquals(List.of(1L, 2L, 1L, 1L), requests());
            broker.produce(-1, AppendOrigin.COORDINATOR, 600_000);
            broker.everyoneFetches();
            broker.produce(17);
            assertEquals(List.of(1L, 2L, 1L, 1L), requests(), "neither coordinators nor what is invalid");
            Histogram latency = (Histogram) metric(ACKS, "LatencyMs", "min.insync.replicas");
            assertEquals(1, latency.count());
            assertTrue(latency.max() >= 70, "max " + latency.max());
            assertEquals(0, ((Histogram) metric(ACKS, "LatencyMs", "1")).max());
        }
    }

    @Test
    void exposureIsWhatTheHighWatermarkHasNotReached() throws Exception {
        try (LeaderFixture broker = broker()) {
            Partition partition = broker.lead(ALL, Map.of("min.insync.replicas", "2"));
            broker.produce(-2);
            int bytes = partition.localLogOrException().activeSegment().size();
            assertEquals(List.of(0L, 0L), List.of(gauge(PARTITION, "Records"), gauge(PARTITION, "Bytes")), "not acknowledged yet");
            broker.fetch(2, 1);
            assertEquals(List.of(1L, (long) bytes), List.of(gauge(PARTITION, "Records"), gauge(PARTITION, "Bytes")));
            partition.localLogOrException().roll(Optional.empty());
            broker.produce(-2);
            broker.produce(1);
            broker.fetch(2, 2);
            assertEquals(List.of(2L, 2L * bytes), List.of(gauge(PARTITION, "Records"), gauge(PARTITION, "Bytes")), "over two segments");
            assertEquals(List.of(2L, 2L * bytes), List.of(gauge(BROKER, "Records"), gauge(BROKER, "Bytes")));
            broker.fetch(3, 1);
            assertEquals(List.of(1L, (long) bytes), List.of(gauge(PARTITION, "Records"), gauge(PARTITION, "Bytes")));
            broker.fetch(3, 3);
            assertEquals(List.of(0L, 0L), List.of(gauge(BROKER, "Records"), gauge(BROKER, "Bytes")));
            assertEquals(2, ((Meter) metric(BROKER, "RecordsPerSec")).count(), "acknowledged while above the high watermark");
        }
    }

    @Test
    void whatTheHighWatermarkHasPassedIsNotExposed() throws Exception {
        try (LeaderFixture broker = broker()) {
            broker.lead(List.of(1, 2), Map.of("min.insync.replicas", "2"));
            broker.produce(-2);
            broker.fetch(2, 1);
            broker.produce(-1);
            broker.fetch(2, 2);
            broker.produce(1);
            assertEquals(0, ((Meter) metric(BROKER, "RecordsPerSec")).count());
            assertEquals(0L, gauge(PARTITION, "Records"));
        }
    }

    @Test
    void followersShowNoExposureAndNeitherDoesTheNextTerm() throws Exception {
        try (LeaderFixture broker = broker()) {
            broker.lead(ALL, Map.of("min.insync.replicas", "2"));
            broker.produce(-2);
            broker.fetch(2, 1);
            assertEquals(1L, gauge(PARTITION, "Records"));
            broker.publish(broker.electing(-1));
            assertEquals(List.of(0L, 0L), List.of(gauge(PARTITION, "Records"), gauge(PARTITION, "Bytes")));
            broker.publish(broker.electing(1));
            assertEquals(List.of(0L, 0L), List.of(gauge(PARTITION, "Records"), gauge(PARTITION, "Bytes")));
        }
    }

    @Test
    void metricsGoWithThePartitionAndWithTheBroker() throws Exception {
        LeaderFixture broker = broker();
        try {
            broker.lead(ALL, Map.of());
            assertEquals(8 + 3 + 2, registered().size(), registered().toString());
            broker.deleteTopic();
            assertEquals(8 + 3, registered().size(), registered().toString());
        } finally {
            broker.close();
        }
        assertEquals(Set.of(), registered());
    }
}
