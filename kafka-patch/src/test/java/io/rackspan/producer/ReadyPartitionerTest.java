// SPDX-License-Identifier: Apache-2.0
package io.rackspan.producer;

import io.rackspan.protocol.MinInSync;

import org.apache.kafka.clients.MetadataSnapshot;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.clients.producer.RoundRobinPartitioner;
import org.apache.kafka.clients.producer.internals.BufferPool;
import org.apache.kafka.clients.producer.internals.ProducerBatch;
import org.apache.kafka.clients.producer.internals.RecordAccumulator;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.MockTime;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import static io.rackspan.producer.ClusterView.ONE;
import static io.rackspan.producer.ClusterView.THREE;
import static io.rackspan.producer.ClusterView.TOPIC;
import static io.rackspan.producer.ClusterView.TWO;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Partitions that an accumulator chooses for records of a topic of three partitions, led by brokers 1, 2 and 3, some of which are not ready. */
final class ReadyPartitionerTest {

    private static final int BATCH = 512;
    private static final List<List<Integer>> IN_SYNC = List.of(List.of(1, 2, 3), List.of(2, 3, 1), List.of(3, 1, 2));
    private static final List<List<Integer>> ONE_RACK = List.of(List.of(1, 2), List.of(2, 1), List.of(3));

    private final MockTime time = new MockTime();
    private final Metrics metrics = new Metrics(time);
    private int sent = 0;

    @AfterEach
    void stop() {
        metrics.close();
    }

    /** The state of a cluster in which these partitions are in two racks, as required, and the others in one. */
    private static MetadataSnapshot ready(Integer... partitions) {
        return snapshot(MinInSync.of(2, 2), Set.of(partitions));
    }

    private static MetadataSnapshot snapshot(MinInSync minInSync, Collection<Integer> ready) {
        return snapshot(ClusterView.response(minInSync,
            IntStream.range(0, 3).mapToObj(partition -> (ready.contains(partition) ? IN_SYNC : ONE_RACK).get(partition)).toList()));
    }

    private static MetadataSnapshot snapshot(MetadataResponse response) {
        List<MetadataResponse.PartitionMetadata> partitions = response.topicMetadata().iterator().next().partitionMetadata();
        return new MetadataSnapshot("cluster", response.brokersById(), partitions, Set.of(), Set.of(), Set.of(), null, Map.of());
    }

    private RecordAccumulator accumulator(boolean adaptive, boolean requireMinInSyncAcks) {
        return new RecordAccumulator(new LogContext(), BATCH, Compression.NONE, 0, 100, 1000, 60_000,
            new RecordAccumulator.PartitionerConfig(adaptive, 0, requireMinInSyncAcks), metrics, "test", time, null,
            new BufferPool(64 * 1024 * 1024, BATCH, metrics, time, "test"));
    }

    /** Appends a record without a key; its value is the count of records so far. Returns the partition it went to. */
    private int append(RecordAccumulator accumulator, Cluster cluster) throws InterruptedException {
        return append(accumulator, cluster, RecordMetadata.UNKNOWN_PARTITION);
    }

    private int append(RecordAccumulator accumulator, Cluster cluster, int wanted) throws InterruptedException {
        int[] chosen = {-1};
        accumulator.append(TOPIC, wanted, 0L, null, ByteBuffer.allocate(100).putInt(0, sent++).array(), Record.EMPTY_HEADERS, new RecordAccumulator.AppendCallbacks() {
            @Override
            public void setPartition(int partition) {
                chosen[0] = partition;
            }

            @Override
            public void onCompletion(RecordMetadata metadata, Exception exception) {
            }
        }, 1000, time.milliseconds(), cluster);
        return chosen[0];
    }

    private Map<Integer, Integer> appendMany(RecordAccumulator accumulator, Cluster cluster) throws InterruptedException {
        Map<Integer, Integer> counts = new TreeMap<>();
        for (int i = 0; i < 4000; i++)
            counts.merge(append(accumulator, cluster), 1, Integer::sum);
        return counts;
    }

    @Test
    void skipsPartitionsThatAreNotReady() throws Exception {
        RecordAccumulator accumulator = accumulator(false, true);
        assertEquals(Set.of(0, 2), appendMany(accumulator, ready(0, 2).cluster()).keySet());
        assertEquals(Set.of(1), appendMany(accumulator, ready(1).cluster()).keySet());
    }

    @Test
    void withAcksOneAllAreAlike() throws Exception {
        assertEquals(Set.of(0, 1, 2), appendMany(accumulator(false, false), ready(1).cluster()).keySet());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void ifNoneIsReadyAllAreUsed(boolean adaptive) throws Exception {
        RecordAccumulator accumulator = accumulator(adaptive, true);
        fillUnequally(accumulator, 4);
        accumulator.ready(ready(), time.milliseconds());
        assertEquals(Set.of(0, 1, 2), appendMany(accumulator, ready().cluster()).keySet());
    }

    @Test
    void ifNoneIsReadyOneWithoutALeaderIsNotUsedEither() throws Exception {
        MetadataSnapshot snapshot = snapshot(ClusterView.response(MinInSync.of(2, 2), List.of(), List.of(1, 2), List.of(3)));
        assertEquals(Set.of(1, 2), appendMany(accumulator(false, true), snapshot.cluster()).keySet());
    }

    @Test
    void aStockBrokerIsUsedAsByAStockClient() throws Exception {
        Cluster stock = snapshot(MinInSync.UNKNOWN, Set.of(1)).cluster();
        assertEquals(Set.of(0, 1, 2), appendMany(accumulator(false, true), stock).keySet());
    }

    @Test
    void leavesAPartitionAtOnceWhenItIsNoLongerReadyAndReturnsWhenItIs() throws Exception {
        RecordAccumulator accumulator = accumulator(false, true);
        int first = append(accumulator, ready(0, 1, 2).cluster());
        Integer[] others = IntStream.range(0, 3).filter(p -> p != first).boxed().toArray(Integer[]::new);
        for (int i = 0; i < 100; i++)
            assertTrue(append(accumulator, ready(others).cluster()) != first, "the batch was not full, but the partition would refuse it");
        assertTrue(appendMany(accumulator, ready(0, 1, 2).cluster()).containsKey(first), "it is ready again");
    }

    @Test
    void waitingRecordsStayInTheirPartitionInOrder() throws Exception {
        RecordAccumulator accumulator = accumulator(false, true);
        Map<Integer, List<Integer>> put = new HashMap<>();
        for (MetadataSnapshot now : List.of(ready(0, 1, 2), ready(1), ready(0, 1, 2), ready(2), ready(), ready(0, 1)))
            for (int i = 0; i < 50; i++)
                put.computeIfAbsent(append(accumulator, now.cluster()), p -> new ArrayList<>()).add(sent - 1);
        Map<Integer, List<Integer>> drained = new HashMap<>();
        for (Node node : List.of(ONE, TWO, THREE))
            for (List<ProducerBatch> batches = drain(accumulator, node); !batches.isEmpty(); batches = drain(accumulator, node))
                for (Record record : batches.get(0).records().records())
                    drained.computeIfAbsent(node.id() - 1, p -> new ArrayList<>()).add(record.value().getInt());
        assertEquals(put, drained);
    }

    /** The next batch for the only partition that the node leads; none at the end. */
    private List<ProducerBatch> drain(RecordAccumulator accumulator, Node node) {
        return accumulator.drain(ready(0, 1), Set.of(node), 1, time.milliseconds()).get(node.id());
    }

    @Test
    void aRecordWithAPartitionIsNeverMoved() throws Exception {
        RecordAccumulator accumulator = accumulator(true, true);
        for (int i = 0; i < 300; i++)
            assertEquals(i % 3, append(accumulator, ready(1).cluster(), i % 3));
    }

    @Test
    void adaptivePartitioningCountsReadyPartitionsOnly() throws Exception {
        RecordAccumulator accumulator = accumulator(true, true);
        fillUnequally(accumulator, 20);
        accumulator.ready(ready(0, 2), time.milliseconds());
        Map<Integer, Integer> counts = appendMany(accumulator, ready(0, 2).cluster());
        assertEquals(Set.of(0, 2), counts.keySet());
        assertTrue(counts.get(0) > 5 * counts.get(2), "the shorter queue gets more: " + counts);
    }

    @Test
    void adaptivePartitioningCountsAllWhenAllAreReady() throws Exception {
        RecordAccumulator accumulator = accumulator(true, true);
        fillUnequally(accumulator, 4);
        accumulator.ready(ready(0, 1, 2), time.milliseconds());
        assertEquals(Set.of(0, 1, 2), appendMany(accumulator, ready(0, 1, 2).cluster()).keySet());
    }

    /** So that there are statistics to follow: the higher the partition, the more waits for it, and the less it is to get. */
    private void fillUnequally(RecordAccumulator accumulator, int step) throws InterruptedException {
        for (int partition = 0; partition < 3; partition++)
            for (int i = 0; i < 10 + step * partition; i++)
                append(accumulator, ready(0, 1, 2).cluster(), partition);
    }

    @Test
    @Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void statisticsFromBeforeAreNoReasonToUseAPartitionThatIsNotReadyNow() throws Exception {
        RecordAccumulator accumulator = accumulator(true, true);
        fillUnequally(accumulator, 4);
        accumulator.ready(ready(0), time.milliseconds());
        assertFalse(appendMany(accumulator, ready(1, 2).cluster()).containsKey(0), "the statistics know of no other partition");
    }

    @Test
    void roundRobinUsesReadyPartitionsOnly() {
        try (RoundRobinPartitioner partitioner = new RoundRobinPartitioner()) {
            Cluster cluster = ready(0, 2).cluster();
            assertEquals(Set.of(0, 2), chosen(partitioner, true, cluster));
            assertEquals(Set.of(0, 1, 2), chosen(partitioner, false, cluster));
            assertEquals(Set.of(0, 1, 2), chosen(partitioner, true, ready().cluster()));
        }
    }

    @Test
    void roundRobinUsesAllPartitionsUnlessReadyOnesAreRequired() {
        try (RoundRobinPartitioner partitioner = new RoundRobinPartitioner()) {
            Cluster cluster = ready(1).cluster();
            assertEquals(Set.of(0, 1, 2), IntStream.range(0, 30).mapToObj(i -> partitioner.partition(TOPIC, null, null, null, null, cluster))
                .collect(Collectors.toSet()));
        }
    }

    private static Set<Integer> chosen(Partitioner partitioner, boolean requireMinInSyncAcks, Cluster cluster) {
        return IntStream.range(0, 30).mapToObj(i -> partitioner.partition(TOPIC, null, null, null, null, requireMinInSyncAcks, cluster))
            .collect(Collectors.toCollection(HashSet::new));
    }

    /** Made before there was another method. */
    private static final class OldPartitioner implements Partitioner {
        @Override
        public int partition(String topic, Object key, byte[] keyBytes, Object value, byte[] valueBytes, Cluster cluster) {
            return 7;
        }

        @Override
        public void close() {
        }

        @Override
        public void configure(Map<String, ?> configs) {
        }
    }

    @Test
    void anOldPartitionerIsCalledAsBefore() {
        try (Partitioner partitioner = new OldPartitioner()) {
            assertEquals(Set.of(7), chosen(partitioner, true, ready(0).cluster()));
        }
    }
}
