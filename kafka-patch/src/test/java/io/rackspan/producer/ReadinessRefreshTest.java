// SPDX-License-Identifier: Apache-2.0
package io.rackspan.producer;

import io.rackspan.protocol.MinInSync;

import org.apache.kafka.clients.Metadata;
import org.apache.kafka.clients.producer.internals.ProducerMetadata;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.internals.ClusterResourceListeners;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.MockTime;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import static io.rackspan.producer.ClusterView.ONE;
import static io.rackspan.producer.ClusterView.THREE;
import static io.rackspan.producer.ClusterView.TOPIC;
import static io.rackspan.producer.ClusterView.TWO;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Readiness in a producer's metadata, and the time of its next metadata request. */
final class ReadinessRefreshTest {

    private static final int MAX_AGE_MS = 300_000;
    private static final MinInSync TWO_REPLICAS = MinInSync.of(2, 1);
    private static final MinInSync TWO_RACKS = MinInSync.of(1, 2);
    private static final List<Integer> ALL = List.of(1, 2, 3);

    private final MockTime time = new MockTime();
    private final ProducerMetadata metadata = metadata(true, 1000);

    private ProducerMetadata metadata(boolean requireMinInSyncAcks, int retryBackoffMaxMs) {
        ProducerMetadata made = new ProducerMetadata(100, retryBackoffMaxMs, MAX_AGE_MS, 3_600_000, new LogContext(), new ClusterResourceListeners(), time);
        made.requireMinInSyncAcks(requireMinInSyncAcks);
        made.add(TOPIC, time.milliseconds());
        return made;
    }

    private void update(ProducerMetadata of, MetadataResponse response) {
        of.updateWithCurrentRequestVersion(response, false, time.milliseconds());
    }

    private long next(ProducerMetadata of) {
        return of.timeToNextUpdate(time.milliseconds());
    }

    @Test
    void aCustomPartitionerFindsWhatIsReady() {
        update(metadata, ClusterView.response(TWO_RACKS, ALL, List.of(1, 2), List.of(3), List.of()));
        Cluster cluster = metadata.fetch();
        assertEquals(List.of(0), cluster.readyPartitionsForTopic(TOPIC).stream().map(PartitionInfo::partition).toList());
        assertEquals(3, cluster.availablePartitionsForTopic(TOPIC).size());
        PartitionInfo unready = cluster.partition(new TopicPartition(TOPIC, 1));
        assertEquals(List.of(1, 2), List.of(unready.minInSyncReplicas(), unready.minInSyncRacks()));
        assertEquals(List.of(), cluster.readyPartitionsForTopic("other"));
        update(metadata, ClusterView.response(TWO_RACKS, ALL, ALL, List.of(3, 1), List.of()));
        assertSame(metadata.fetch().availablePartitionsForTopic(TOPIC), metadata.fetch().readyPartitionsForTopic(TOPIC));
    }

    @Test
    void ofAStockBrokerEachPartitionWithALeaderIsReady() {
        update(metadata, ClusterView.response(MinInSync.UNKNOWN, ALL, List.of(1), List.of()));
        assertSame(metadata.fetch().availablePartitionsForTopic(TOPIC), metadata.fetch().readyPartitionsForTopic(TOPIC));
        assertEquals(2, metadata.fetch().readyPartitionsForTopic(TOPIC).size());
        PartitionInfo one = metadata.fetch().partition(new TopicPartition(TOPIC, 0));
        assertEquals(List.of(-1, -1), List.of(one.minInSyncReplicas(), one.minInSyncRacks()));
        assertEquals(MAX_AGE_MS, next(metadata));
    }

    @Test
    void aNewLeaderFromAProduceResponseLosesNothing() {
        update(metadata, ClusterView.response(TWO_REPLICAS, ALL, List.of(1)));
        TopicPartition unready = new TopicPartition(TOPIC, 1);
        assertEquals(2, metadata.updatePartitionLeadership(Map.of(
            unready, new Metadata.LeaderIdAndEpoch(Optional.of(2), Optional.of(6)),
            new TopicPartition(TOPIC, 0), new Metadata.LeaderIdAndEpoch(Optional.of(3), Optional.of(6))), List.of(ONE, TWO, THREE)).size());
        assertEquals(2, metadata.fetch().partition(unready).minInSyncReplicas());
        assertEquals(1, metadata.fetch().readyPartitionsForTopic(TOPIC).size());
    }

    @Test
    void metadataWithoutUsableEpochsLosesNothing() {
        MetadataResponse response = ClusterView.response(TWO_REPLICAS, ALL);
        MetadataResponse.PartitionMetadata partition = response.topicMetadata().iterator().next().partitionMetadata().get(0);
        assertEquals(TWO_REPLICAS, partition.withoutLeaderEpoch().minInSync);
    }

    /** Producers that lost the same rack at the same time must not request metadata together, nor for ever each second. */
    @ParameterizedTest
    @ValueSource(ints = {1000, 10_000})
    void pausesGrowWhileAPartitionIsNotReady(int retryBackoffMaxMs) {
        ProducerMetadata metadata = metadata(true, retryBackoffMaxMs);
        update(metadata, ClusterView.response(TWO_REPLICAS, ALL, ALL));
        assertEquals(MAX_AGE_MS, next(metadata));
        for (int outage = 0; outage < 2; outage++) {
            for (long pause : new long[] {1000, 2000, 4000, 8000, 16_000, 16_000, 16_000}) {
                update(metadata, ClusterView.response(TWO_REPLICAS, ALL, List.of(1)));
                assertFalse(metadata.updateRequested());
                long next = next(metadata);
                assertTrue(next >= 0.8 * pause && next <= 1.2 * pause, next + " ms where about " + pause + " are due");
                assertEquals(next, next(metadata), "the pause is drawn once");
                time.sleep(next - 1);
                assertEquals(1, next(metadata));
                time.sleep(1);
                assertEquals(0, next(metadata));
                assertTrue(metadata.updateRequested());
                assertFalse(metadata.newMetadataRequestAndVersion(time.milliseconds()).isPartialUpdate);
            }
            update(metadata, ClusterView.response(TWO_REPLICAS, ALL, List.of(1, 3)));
            assertEquals(MAX_AGE_MS, next(metadata), "all are ready again");
        }
    }

    /** Kafka draws its own pause anew each time it is asked, so that one answer may allow what the next one forbids. */
    @Test
    void aPauseThatIsOverIsOverWhateverKafkaDrawsForItsOwn() {
        for (int producer = 0; producer < 500; producer++) {
            ProducerMetadata one = metadata(true, 1000);
            for (int equivalent = 0; equivalent < 8; equivalent++)
                update(one, ClusterView.response(TWO_REPLICAS, ALL, ALL));
            update(one, ClusterView.response(TWO_REPLICAS, ALL, List.of(1)));
            time.sleep(next(one));
            assertEquals(0, next(one), "producer " + producer);
        }
    }

    @Test
    void pausesDifferBetweenProducers() {
        Set<Long> pauses = new HashSet<>();
        for (int i = 0; i < 50; i++) {
            ProducerMetadata one = metadata(true, 1000);
            update(one, ClusterView.response(TWO_REPLICAS, ALL, List.of(1)));
            pauses.add(next(one));
        }
        assertTrue(pauses.size() > 10, "pauses of 50 producers: " + pauses);
    }

    @Test
    void refusalsDoNotCauseMoreMetadataRequests() {
        for (int i = 0; i < 10; i++) {
            update(metadata, ClusterView.response(TWO_REPLICAS, ALL, List.of(1)));
            time.sleep(next(metadata));
            next(metadata);
        }
        update(metadata, ClusterView.response(TWO_REPLICAS, ALL, List.of(1)));
        metadata.requestUpdate(false);
        assertTrue(next(metadata) >= 800, "as for a batch that was refused again, but only " + next(metadata) + " ms later");
    }

    @Test
    void aFailedRequestBacksOff() {
        update(metadata, ClusterView.response(TWO_REPLICAS, ALL, List.of(1)));
        time.sleep(next(metadata));
        assertEquals(0, next(metadata));
        metadata.failedUpdate(time.milliseconds());
        assertTrue(next(metadata) > 0, "it would request metadata without a pause");
    }

    @Test
    void requestsMetadataAsUsualWhereReadinessDoesNotMatterOrCannotReturn() {
        ProducerMetadata acksOne = metadata(false, 1000);
        update(acksOne, ClusterView.response(TWO_REPLICAS, ALL, List.of(1)));
        assertEquals(MAX_AGE_MS, next(acksOne));
        update(metadata, ClusterView.response(MinInSync.of(1, 3), ALL, List.of(1)));
        assertEquals(MAX_AGE_MS, next(metadata), "the replicas are assigned to two racks only");
        update(metadata, ClusterView.response(TWO_REPLICAS, ALL, List.of()));
        assertEquals(MAX_AGE_MS, next(metadata), "a partition without a leader is handled elsewhere");
    }

    @Test
    void aRefusalForTooFewRacksIsKnownWhereMetadataSaysSo() {
        TopicPartition partition = new TopicPartition(TOPIC, 0);
        update(metadata, ClusterView.response(TWO_RACKS, List.of(1, 2)));
        assertTrue(ReadyPartitions.isKnown(Errors.NOT_ENOUGH_RACKS, metadata, partition));
        assertTrue(ReadyPartitions.isKnown(Errors.NOT_ENOUGH_RACKS_AFTER_APPEND, metadata, partition));
        assertFalse(ReadyPartitions.isKnown(Errors.NOT_LEADER_OR_FOLLOWER, metadata, partition));
        assertFalse(ReadyPartitions.isKnown(Errors.NOT_ENOUGH_RACKS, metadata, new TopicPartition("other", 0)));
        update(metadata, ClusterView.response(TWO_RACKS, ALL));
        assertFalse(ReadyPartitions.isKnown(Errors.NOT_ENOUGH_RACKS, metadata, partition), "it is news");
        update(metadata, ClusterView.response(MinInSync.UNKNOWN, ALL));
        assertFalse(ReadyPartitions.isKnown(Errors.NOT_ENOUGH_RACKS, metadata, partition));
    }

    @Test
    void aRefusalForTooFewReplicasIsNewsUnlessTheBrokerIsStock() {
        TopicPartition partition = new TopicPartition(TOPIC, 0);
        update(metadata, ClusterView.response(TWO_REPLICAS, ALL));
        assertTrue(ReadyPartitions.isNews(Errors.NOT_ENOUGH_REPLICAS, metadata, partition));
        assertTrue(ReadyPartitions.isNews(Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, metadata, partition));
        assertFalse(ReadyPartitions.isNews(Errors.REQUEST_TIMED_OUT, metadata, partition));
        assertFalse(ReadyPartitions.isNews(Errors.NOT_ENOUGH_REPLICAS, metadata, new TopicPartition("other", 0)));
        update(metadata, ClusterView.response(TWO_REPLICAS, List.of(1)));
        assertFalse(ReadyPartitions.isNews(Errors.NOT_ENOUGH_REPLICAS, metadata, partition), "it is known");
        update(metadata, ClusterView.response(MinInSync.UNKNOWN, ALL));
        assertFalse(ReadyPartitions.isNews(Errors.NOT_ENOUGH_REPLICAS, metadata, partition));
    }
}
