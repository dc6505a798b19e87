package io.rackspan.cluster;

import kafka.cluster.Partition;

import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** acks=min.insync.replicas on a real partition with a real log: replicas 1 and 2 in rack a, 3 and 4 in rack b. */
final class QuorumAcksTest {

    private static final List<Integer> ALL = List.of(1, 2, 3, 4);
    private static final Map<String, String> TWO_AND_TWO = Map.of("min.insync.replicas", "2", "min.insync.racks", "2");

    private LeaderFixture broker;

    @BeforeEach
    void start() throws Exception {
        broker = new LeaderFixture(Map.of());
        broker.brokers("a", "a", "b", "b");
    }

    @AfterEach
    void stop() throws Exception {
        assertEquals(0, broker.partition().ackQuorum().waiting(), "requests still counted as waiting");
        broker.close();
        assertEquals(List.of(), broker.faults);
    }

    private static PartitionResponse now(CompletableFuture<PartitionResponse> answer) {
        assertTrue(answer.isDone(), "the request should have been answered");
        return answer.join();
    }

    @Test
    void answeredByTheFirstFollowerInAnotherRack() {
        broker.lead(ALL, TWO_AND_TWO);
        CompletableFuture<PartitionResponse> answer = broker.produce(-2);
        broker.fetch(2, 1);
        assertFalse(answer.isDone(), "both holders are in rack a");
        broker.fetch(3, 1);
        assertEquals(Errors.NONE, now(answer).error);
        assertEquals(0, broker.highWatermark(), "replica 4 has not got it");
    }

    @Test
    void oneReplicaInOneRackIsAcksOne() {
        broker.lead(ALL, Map.of());
        assertEquals(Errors.NONE, now(broker.produce(-2)).error);
        assertEquals(0, broker.highWatermark());
    }

    @Test
    void aHolderOutsideTheIsrDoesNotCount() {
        Partition partition = broker.lead(ALL, Map.of("min.insync.replicas", "2"));
        broker.controllerChangesIsr(List.of(1, 2));
        broker.produce(1);
        CompletableFuture<PartitionResponse> answer = broker.produce(-2);
        broker.fetch(3, 1);
        broker.fetch(4, 1);
        assertFalse(answer.isDone());
        broker.fetch(2, 2);
        assertEquals(Errors.NONE, now(answer).error);
        assertEquals(2, partition.inSyncReplicaIds().size());
    }
}
