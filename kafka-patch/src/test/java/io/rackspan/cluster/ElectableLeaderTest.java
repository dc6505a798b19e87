// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.metadata.LeaderAndIsr;

import io.rackspan.protocol.Electable;

import org.junit.jupiter.api.BeforeEach;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

/** The base of tests of one leader at level 2: replicas 1 and 2 in rack a, 3 and 4 in rack b, min.insync.replicas=2. */
abstract class ElectableLeaderTest extends LeaderTest {

    static final List<Integer> ALL = List.of(1, 2, 3, 4);
    static final int QUORUM = ProduceAcks.MIN_INSYNC_REPLICAS;

    ElectableLeaderTest() {
        super("a", "a", "b", "b");
    }

    @BeforeEach
    void lead() {
        lead(Map.of("min.insync.replicas", "2"));
    }

    void lead(Map<String, String> config) {
        broker.publish(LeaderFixture.level(2));
        broker.lead(ALL, config);
        broker.everyoneFetches();
    }

    /** What is proposed now, as the ISR and the electable set; empty if nothing is. A set that is not proposed is null. */
    String proposed() {
        if (broker.alterPartition.isrUpdates().isEmpty())
            return "";
        LeaderAndIsr proposal = broker.alterPartition.isrUpdates().head().leaderAndIsr();
        return proposal.isr().stream().sorted().toList() + " " + proposal.electable();
    }

    String committed() {
        return broker.partition().quorumGates().electable().committed().toString();
    }

    /** The metadata has a change of the partition, without any proposal of this leader. */
    PartitionChangeRecord change() {
        return broker.electing(1).setLeader(-2);
    }

    /** The metadata has this set. */
    void have(Electable set) {
        broker.publish(set.intoChange(change()));
        assertEquals(set.toString(), committed());
    }

    void have(Integer... members) {
        have(Electable.of(List.of(members)));
    }

    CompletableFuture<PartitionResponse> produce() {
        return broker.produce(QUORUM);
    }

    /** These followers fetch from the end of the log. */
    void fetch(int... followers) {
        for (int follower : followers)
            broker.fetch(follower, broker.logEnd());
    }

    static void assertAnswered(CompletableFuture<PartitionResponse> answer) {
        assertEquals(Errors.NONE, LeaderFixture.now(answer).error);
    }

    static void assertWaits(CompletableFuture<PartitionResponse> answer, String why) {
        assertFalse(answer.isDone(), why);
    }
}
