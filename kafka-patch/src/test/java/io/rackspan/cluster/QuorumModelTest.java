// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import kafka.cluster.Partition;

import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.server.partition.PartitionState;
import org.apache.kafka.server.partition.PendingShrinkIsr;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

import static io.rackspan.cluster.LeaderFixture.now;
import static org.junit.jupiter.api.Assertions.assertEquals;

/**
 * Whatever happens to a partition in whatever order: after each step, exactly those requests with acks=min.insync.replicas are
 * answered, and in the way, that the definition says. The set of in-sync replicas is the partition's own; who holds what is the test's.
 */
final class QuorumModelTest {

    private static final List<Integer> REPLICAS = List.of(1, 2, 3, 4, 5);
    private static final int STEPS = 150;

    private record Pending(long requiredOffset, CompletableFuture<PartitionResponse> answer) { }

    private final Map<Integer, String> racks = new HashMap<>(Map.of(1, "a", 2, "a", 3, "b", 4, "b", 5, "c"));
    private final Map<Integer, Long> ends = new HashMap<>();
    private final List<Pending> pending = new ArrayList<>();
    private final List<String> history = new ArrayList<>();
    private int minReplicas = 2;
    private int minRacks = 1;
    private boolean relabelled;
    private Partition partition;

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
    void answersMatchTheDefinition(long seed) throws Exception {
        Random random = new Random(seed);
        try (LeaderFixture broker = new LeaderFixture(Map.of())) {
            broker.brokers("a", "a", "b", "b", "c");
            partition = broker.lead(REPLICAS, Map.of("min.insync.replicas", "2"));
            for (int step = 0; step < STEPS; step++) {
                step(broker, random);
                check();
            }
            broker.publish(broker.electing(-1));
            for (Pending request : pending)
                assertEquals(Errors.NOT_LEADER_OR_FOLLOWER, now(request.answer).error, this::steps);
            assertEquals(0, partition.ackQuorum().waiting());
            assertEquals(List.of(), broker.faults);
        }
    }

    private void step(LeaderFixture broker, Random random) {
        int follower = 2 + random.nextInt(4);
        switch (random.nextInt(15)) {
            case 0, 1, 2 -> {
                history.add("produce");
                boolean isFinal = span(REPLICAS) < minRacks && (!relabelled || REPLICAS.size() < minRacks);
                Errors refusal = isFinal ? Errors.INCONSISTENT_REPLICA_CONFIGURATION : refusal("");
                long required = broker.logEnd() + 1;
                CompletableFuture<PartitionResponse> answer = broker.produce(-2);
                if (refusal == Errors.NONE)
                    pending.add(new Pending(required, answer));
                else
                    assertEquals(refusal, now(answer).error, this::steps);
            }
            case 3 -> {
                history.add("produce acks=1");
                broker.produce(1);
            }
            case 4, 5, 6, 7 -> fetches(broker, follower, random.nextLong(ends.getOrDefault(follower, 0L), broker.logEnd() + 1));
            case 8 -> fetches(broker, follower, random.nextLong(broker.logEnd() + 1));
            case 9 -> {
                Set<Integer> isr = new HashSet<>(Set.of(1));
                REPLICAS.forEach(id -> {
                    if (random.nextBoolean())
                        isr.add(id);
                });
                history.add("ISR " + isr);
                broker.controllerChangesIsr(List.copyOf(isr));
            }
            case 10 -> {
                if (random.nextBoolean()) {
                    minReplicas = 1 + random.nextInt(4);
                    history.add("min.insync.replicas " + minReplicas);
                    broker.topicConfig("min.insync.replicas", "" + minReplicas);
                } else {
                    minRacks = 1 + random.nextInt(3);
                    history.add("min.insync.racks " + minRacks);
                    broker.topicConfig("min.insync.racks", "" + minRacks);
                }
            }
            case 11, 12 -> {
                history.add("the leader proposes to remove who lags");
                broker.leaderProposesShrink();
            }
            case 13 -> {
                boolean agrees = random.nextBoolean();
                history.add("the controller " + (agrees ? "agrees" : "refuses"));
                broker.controllerAnswers(agrees);
            }
            default -> {
                String rack = List.of("a", "b", "c").get(random.nextInt(3));
                history.add("broker " + follower + " to rack " + rack);
                relabelled |= !rack.equals(racks.put(follower, rack));
                broker.publish(LeaderFixture.broker(follower, rack, 1));
            }
        }
    }

    private void fetches(LeaderFixture broker, int follower, long from) {
        history.add(follower + " fetches from " + from);
        ends.put(follower, from);
        broker.fetch(follower, from);
    }

    private void check() {
        Errors refusal = refusal("_AFTER_APPEND");
        for (Iterator<Pending> i = pending.iterator(); i.hasNext();) {
            Pending request = i.next();
            boolean ends = refusal != Errors.NONE || isHeld(request.requiredOffset);
            assertEquals(ends, request.answer.isDone(), () -> "request for " + request.requiredOffset + ": " + steps());
            if (ends) {
                assertEquals(refusal, now(request.answer).error, this::steps);
                i.remove();
            }
        }
        assertEquals(pending.size(), partition.ackQuorum().waiting(), this::steps);
    }

    private Errors refusal(String when) {
        Set<Integer> isr = partition.partitionState().isr();
        if (isr.size() < minReplicas)
            return Errors.valueOf("NOT_ENOUGH_REPLICAS" + when);
        return span(isr) < minRacks ? Errors.valueOf("NOT_ENOUGH_RACKS" + when) : Errors.NONE;
    }

    private boolean isHeld(long offset) {
        // Every in-sync replica holds what is below the high watermark, those that are about to leave as well
        if (partition.localLogOrException().highWatermark() >= offset)
            return true;
        PartitionState state = partition.partitionState();
        Set<Integer> holders = new HashSet<>(state.isr());
        if (state instanceof PendingShrinkIsr shrink)
            holders.removeAll(shrink.outOfSyncReplicaIds());
        holders.removeIf(id -> id != 1 && ends.getOrDefault(id, 0L) < offset);
        return holders.size() >= minReplicas && span(holders) >= minRacks;
    }

    private long span(Collection<Integer> brokers) {
        return brokers.stream().map(racks::get).distinct().count();
    }

    private String steps() {
        return "ISR " + partition.partitionState().isr() + ", ends " + ends + ", racks " + racks + ", " + minReplicas + " replicas in " +
            minRacks + " racks, after " + history;
    }
}
