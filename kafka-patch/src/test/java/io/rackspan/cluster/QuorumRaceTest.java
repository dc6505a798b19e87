// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import kafka.cluster.Partition;

import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.server.replica.Replica;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;

import scala.Option;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Followers, producers and the controller at once, each in threads of its own, on the real partition and the real purgatory. */
final class QuorumRaceTest {

    private static final List<Integer> ALL = List.of(1, 2, 3);
    private static final int PATIENCE_SECONDS = 120;

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final AtomicBoolean over = new AtomicBoolean();
    private LeaderFixture broker;
    private Partition partition;

    @BeforeEach
    void start() throws Exception {
        broker = new LeaderFixture(Map.of());
        broker.brokers("a", "a", "b");
        partition = broker.lead(ALL, Map.of("min.insync.replicas", "2"));
    }

    @AfterEach
    void stop() throws Exception {
        over.set(true);
        threads.shutdownNow();
        assertTrue(threads.awaitTermination(PATIENCE_SECONDS, TimeUnit.SECONDS), "threads that do not end");
        broker.close();
    }

    /** Fetches what the leader has, again and again. `reported` is set before each fetch: the leader cannot know more. */
    private Callable<Void> follower(int id, AtomicLongArray reported) {
        return () -> {
            while (!over.get()) {
                long end = partition.localLogOrException().logEndOffset();
                reported.accumulateAndGet(id, end, Math::max);
                report(partition.getReplica(id), end);
            }
            return null;
        };
    }

    /** There is no such follower while this broker does not lead. */
    private void report(Option<Replica> follower, long end) {
        if (follower.isDefined())
            partition.updateFollowerFetchState(follower.get(), new LogOffsetMetadata(end), 0, broker.time.milliseconds(), end, 1);
    }

    /**
     * One producer that always waits for its answer, so that nothing but the wake-up for this very record can help it: each turn is a
     * race between the follower's report and the request that begins to wait.
     */
    @Test
    void noReportIsMissed() throws Exception {
        AtomicLongArray reported = new AtomicLongArray(4);
        List<Future<?>> followers = List.of(threads.submit(follower(2, reported)));
        for (int turn = 0; turn < 3000; turn++) {
            PartitionResponse answer = broker.produce(-2).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            assertEquals(Errors.NONE, answer.error);
            assertTrue(reported.get(2) > answer.baseOffset, "acknowledged before any follower had it");
        }
        over.set(true);
        for (Future<?> follower : followers)
            follower.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertEquals(0, partition.ackQuorum().waiting());
        assertEquals(List.of(), broker.faults);
    }

    /** Leaders come and go while requests complete: each request is answered once, and well only by holders of its own term. */
    @Test
    void leaderChangesWhileRequestsComplete() throws Exception {
        AtomicInteger term = new AtomicInteger();
        Map<Integer, AtomicLongArray> reported = new ConcurrentHashMap<>();
        List<Future<?>> all = new ArrayList<>();
        for (int id : List.of(2, 3))
            all.add(threads.submit(() -> {
                while (!over.get()) {
                    int now = term.get();
                    long end = partition.localLogOrException().logEndOffset();
                    reported.computeIfAbsent(now, t -> new AtomicLongArray(4)).accumulateAndGet(id, end, Math::max);
                    var replica = partition.getReplica(id);
                    // A report that was made in an earlier term must not be taken into this one
                    if (term.get() == now)
                        report(replica, end);
                }
                return null;
            }));
        Set<Errors> errors = ConcurrentHashMap.newKeySet();
        AtomicInteger answered = new AtomicInteger();
        for (int producer = 0; producer < 3; producer++)
            all.add(threads.submit(() -> {
                while (!over.get()) {
                    int before = term.get();
                    PartitionResponse answer = broker.produce(-2).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
                    errors.add(answer.error);
                    answered.incrementAndGet();
                    AtomicLongArray known = reported.get(before);
                    if (answer.error == Errors.NONE && term.get() == before)
                        assertTrue(known != null && Math.max(known.get(2), known.get(3)) > answer.baseOffset,
                            "acknowledged at " + answer.baseOffset + " in term " + before + ", where followers reported " + known);
                }
                return null;
            }));
        for (int change = 0; change < 60; change++) {
            int goal = answered.get() + 20;
            while (answered.get() < goal && all.stream().noneMatch(Future::isDone))
                Thread.onSpinWait();
            broker.publish(broker.electing(-1));
            term.incrementAndGet();
            broker.publish(broker.electing(1));
        }
        over.set(true);
        broker.publish(broker.electing(-1));
        for (Future<?> thread : all)
            thread.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertEquals(Set.of(Errors.NONE, Errors.NOT_LEADER_OR_FOLLOWER), errors);
        assertEquals(0, partition.ackQuorum().waiting());
        assertEquals(List.of(), broker.faults);
    }

    /** The in-sync replicas and the requirements change while requests complete; no request is forgotten, none is answered twice. */
    @Test
    void changesOfEverythingElseWhileRequestsComplete() throws Exception {
        AtomicLongArray reported = new AtomicLongArray(4);
        List<Future<?>> all = new ArrayList<>();
        for (int id : List.of(2, 3))
            all.add(threads.submit(follower(id, reported)));
        AtomicInteger answered = new AtomicInteger();
        Set<Errors> errors = ConcurrentHashMap.newKeySet();
        for (int acks : List.of(-2, -2, -1))
            all.add(threads.submit(() -> {
                while (!over.get()) {
                    errors.add(broker.produce(acks).get(PATIENCE_SECONDS, TimeUnit.SECONDS).error);
                    answered.incrementAndGet();
                }
                return null;
            }));
        List<List<Integer>> isrs = List.of(List.of(1, 2), ALL, List.of(1, 3), List.of(1));
        for (int change = 0; change < 120; change++) {
            int goal = answered.get() + 10;
            while (answered.get() < goal && all.stream().noneMatch(Future::isDone))
                Thread.onSpinWait();
            switch (change % 3) {
                case 0 -> broker.controllerChangesIsr(isrs.get(change / 3 % isrs.size()));
                case 1 -> broker.topicConfig("min.insync.racks", "" + (1 + change % 2));
                default -> broker.topicConfig("min.insync.replicas", "" + (1 + change / 3 % 2));
            }
        }
        broker.controllerChangesIsr(ALL);
        over.set(true);
        broker.publish(broker.electing(-1));
        for (Future<?> thread : all)
            thread.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertTrue(errors.contains(Errors.NONE) && errors.contains(Errors.NOT_ENOUGH_REPLICAS), errors.toString());
        assertEquals(0, partition.ackQuorum().waiting());
        assertEquals(List.of(), broker.faults);
    }
}
