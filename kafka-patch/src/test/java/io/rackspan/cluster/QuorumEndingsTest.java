// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import kafka.cluster.Partition;

import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.common.utils.LogCaptureAppender;
import org.apache.kafka.server.replica.Replica;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import static io.rackspan.cluster.LeaderFixture.now;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Failures of a waiting request with acks=min.insync.replicas: at once, once, and without any remains. */
final class QuorumEndingsTest {

    private static final List<Integer> ALL = List.of(1, 2, 3, 4);
    private static final Map<String, String> TWO_IN_TWO = Map.of("min.insync.replicas", "2", "min.insync.racks", "2");

    private LeaderFixture broker;
    private Partition partition;
    private CompletableFuture<PartitionResponse> answer;

    /** Replicas 1 (leader) and 2 in rack a, 3 and 4 in rack b; a record that only the leader holds. */
    @BeforeEach
    void start() throws Exception {
        broker = new LeaderFixture(Map.of());
        broker.brokers("a", "a", "b", "b");
        partition = broker.lead(ALL, TWO_IN_TWO);
        answer = broker.produce(-2);
        assertFalse(answer.isDone());
        assertEquals(1, partition.ackQuorum().waiting());
    }

    @AfterEach
    void stop() throws Exception {
        assertEquals(0, partition.ackQuorum().waiting(), "still counted as waiting");
        broker.close();
        assertEquals(List.of(), broker.faults);
    }

    private PartitionResponse ended() {
        return now(answer);
    }

    @Test
    void failsWhenTheControllerLeavesTooFewReplicas() {
        broker.controllerChangesIsr(List.of(1));
        assertEquals(Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ended().error);
        assertEquals("Partition orders-0 has 1 in-sync replica(s) [1], but min.insync.replicas is 2.", ended().errorMessage);
        assertEquals(1, broker.logEnd());
    }

    @Test
    void failsWhenTheControllerLeavesTooFewRacks() {
        broker.controllerChangesIsr(List.of(1, 2));
        assertEquals(Errors.NOT_ENOUGH_RACKS_AFTER_APPEND, ended().error);
        assertTrue(ended().errorMessage.contains("No replica is in sync in rack(s) [b]."), ended().errorMessage);
    }

    @Test
    void failsWhenTheLeaderRemovesThoseThatLag() {
        broker.leaderShrinksIsr();
        assertEquals(Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ended().error);
    }

    @Test
    void failsWhenTheRequirementsAreRaisedAboveTheIsr() {
        broker.controllerChangesIsr(List.of(1, 3));
        assertFalse(answer.isDone());
        broker.topicConfig("min.insync.replicas", "3");
        assertEquals(Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ended().error);
    }

    @Test
    void failsWhenAnotherBrokerLeads() {
        broker.publish(broker.electing(2));
        assertEquals(Errors.NOT_LEADER_OR_FOLLOWER, ended().error);
    }

    @Test
    void failsWhenNoBrokerLeads() {
        broker.publish(broker.electing(-1));
        assertEquals(Errors.NOT_LEADER_OR_FOLLOWER, ended().error);
    }

    @Test
    void failsWhenTheTopicIsDeleted() {
        broker.deleteTopic();
        assertEquals(Errors.UNKNOWN_TOPIC_OR_PARTITION, ended().error);
    }

    @Test
    void failsWhenTheDiskFails() {
        broker.failLogDir();
        assertEquals(Errors.KAFKA_STORAGE_ERROR, ended().error);
    }

    @Test
    void failsWhenTheRequestTimesOut() throws Exception {
        CompletableFuture<PartitionResponse> brief = broker.produce(-2, AppendOrigin.CLIENT, 1);
        assertEquals(Errors.REQUEST_TIMED_OUT, brief.get(60, TimeUnit.SECONDS).error);
        assertEquals(1, partition.ackQuorum().waiting(), "the other one waits on");
        broker.fetch(3, 1);
        assertEquals(Errors.NONE, ended().error);
    }

    /** The same offset may hold another record by now. */
    @Test
    void aReelectedLeaderBeginsANewTerm() {
        AckQuorum.Waiter waiter = partition.ackQuorum().await();
        broker.publish(broker.electing(2));
        broker.publish(broker.electing(1));
        assertEquals(Errors.NOT_LEADER_OR_FOLLOWER, ended().error);
        broker.fetch(3, 1);
        assertEquals("(false,NOT_LEADER_OR_FOLLOWER)", partition.quorumGates().check(waiter, 1).toString());
        waiter.release();
        CompletableFuture<PartitionResponse> next = broker.produce(-2);
        broker.fetch(3, 2);
        assertEquals(Errors.NONE, now(next).error);
    }

    @Test
    void aRecreatedTopicIsAnotherTopic() {
        AckQuorum.Waiter waiter = partition.ackQuorum().await();
        broker.deleteTopic();
        waiter.release();
        Partition next = broker.addTopic("orders", ALL);
        assertEquals("(false,NOT_LEADER_OR_FOLLOWER)", next.quorumGates().check(waiter, 0).toString());
    }

    /** The broker sees in one go that it lost the leadership and got it back. */
    @Test
    void aNewEpochOfTheSameLeaderEndsNothingAndWaitsForNewReports() {
        broker.topicConfig("min.insync.replicas", "3");
        broker.fetch(2, 1);
        broker.publish(broker.electing(2), broker.electing(1));
        assertEquals(3, partition.getLeaderEpoch());
        assertFalse(answer.isDone());
        broker.fetch(3, 1);
        assertFalse(answer.isDone(), "replica 2 may have followed another leader in between");
        broker.fetch(2, 1);
        assertEquals(Errors.NONE, ended().error);
    }

    @Test
    void anErrorBetweenAppendAndAnswerLeavesNoWaiter() {
        broker.afterAppend = () -> {
            throw new IllegalStateException("broken");
        };
        assertThrows(IllegalStateException.class, () -> broker.produce(-2));
        assertEquals(1, partition.ackQuorum().waiting(), "only the other request waits");
        broker.fetch(3, 1);
        assertEquals(Errors.NONE, ended().error);
    }

    /** A fetch that read the log in one epoch may come to be noted in the next; the follower may have truncated since. */
    @Test
    void theOffsetOfAFetchOfAnEarlierEpochIsDropped() throws Exception {
        Method note = Arrays.stream(Partition.class.getDeclaredMethods())
            .filter(m -> m.getName().equals("updateFollowerFetchState") && m.getParameterCount() == 7).findFirst().orElseThrow();
        note.setAccessible(true);
        Replica follower = partition.getReplica(3).get();
        broker.publish(broker.electing(1));
        note.invoke(partition, follower, new LogOffsetMetadata(1), 0L, broker.time.milliseconds(), 1L, 1L, partition.getLeaderEpoch() - 1);
        assertFalse(answer.isDone());
        note.invoke(partition, follower, new LogOffsetMetadata(1), 0L, broker.time.milliseconds(), 1L, 1L, partition.getLeaderEpoch());
        assertEquals(Errors.NONE, ended().error);
    }

    @Test
    void refusalsDoNotFloodTheLog() {
        try (LogCaptureAppender log = LogCaptureAppender.createAndRegister()) {
            for (int i = 0; i < 100; i++)
                broker.produce(-2);
            broker.controllerChangesIsr(List.of(1));
            for (int i = 0; i < 100; i++)
                assertEquals(Errors.NOT_ENOUGH_REPLICAS, now(broker.produce(-2)).error);
            List<LogCaptureAppender.Event> lines = log.getEvents().stream()
                .filter(e -> e.getMessage().contains("min.insync.replicas is 2") || e.getMessage().contains("Error processing append")).toList();
            assertEquals(1, lines.size(), "lines: " + lines.stream().map(LogCaptureAppender.Event::getMessage).toList());
            assertEquals("WARN", lines.get(0).getLevel());
            assertTrue(lines.get(0).getThrowableInfo().isEmpty(), "no stack trace");
        }
    }
}
