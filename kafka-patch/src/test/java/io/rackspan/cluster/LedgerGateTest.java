// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;

import io.rackspan.common.Degrade;
import io.rackspan.protocol.LedgerNote;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

/** What a leader has noted in the ledger while its topic is degraded from two racks to one: brokers 1 and 2 in rack a, 3 in rack b. */
final class LedgerGateTest extends LeaderTest {

    private static final String RACKS = "min.insync.racks";
    private static final int ALL = -1;
    private static final int QUORUM = ProduceAcks.MIN_INSYNC_REPLICAS;

    LedgerGateTest() {
        super("a", "a", "b");
    }

    @BeforeEach
    void lead() {
        broker.lead(List.of(1, 2, 3), Map.of(RACKS, "2", "min.insync.replicas", "2"));
    }

    private void degrade(String reason) {
        broker.publish(LeaderFixture.config(ConfigResource.Type.TOPIC, LeaderFixture.TOPIC, RACKS, "1"),
            LeaderFixture.config(ConfigResource.Type.TOPIC, LeaderFixture.TOPIC, Degrade.NAME,
                "to=1,from=2,since=2026-01-01T00:00:00Z,until=2026-01-02T00:00:00Z,by=User:a,reason=" + reason));
    }

    private void restore() {
        broker.publish(LeaderFixture.config(ConfigResource.Type.TOPIC, LeaderFixture.TOPIC, RACKS, "2"),
            LeaderFixture.config(ConfigResource.Type.TOPIC, LeaderFixture.TOPIC, Degrade.NAME, null));
    }

    /** The note of the proposal that is under way; null if it has none, or there is none. */
    private String note() {
        LedgerNote note = broker.alterPartition.isrUpdates().isEmpty() ? null : broker.alterPartition.isrUpdates().head().leaderAndIsr().note();
        return note == null ? null : note.toString();
    }

    private String ledger() {
        return broker.ledger().toString();
    }

    private static Errors now(CompletableFuture<PartitionResponse> answer) {
        return LeaderFixture.now(answer).error;
    }

    @Test
    void nothingIsAcknowledgedInFewerRacksBeforeThatIsNoted() {
        broker.controllerChangesIsr(List.of(1, 2));
        assertEquals(Errors.NOT_ENOUGH_RACKS, now(broker.produce(ALL)));
        degrade("x");
        assertEquals("LedgerNote(1 rack(s) below 0; begins at 0, 2 rack(s) promised)", note());
        CompletableFuture<PartitionResponse> all = broker.produce(ALL);
        CompletableFuture<PartitionResponse> quorum = broker.produce(QUORUM);
        broker.everyoneFetches();
        assertEquals(0, broker.highWatermark());
        assertFalse(all.isDone());
        assertFalse(quorum.isDone());
        broker.controllerNotes();
        assertEquals("[0- 2 rack(s)]", ledger());
        assertEquals(2, broker.highWatermark());
        assertEquals(List.of(Errors.NONE, Errors.NONE), List.of(now(all), now(quorum)));
        assertNull(note(), "it is noted once");
    }

    @Test
    void whileTheInSyncReplicasAreInEnoughRacksADegradeChangesNothing() {
        degrade("x");
        assertNull(note());
        CompletableFuture<PartitionResponse> quorum = broker.produce(QUORUM);
        broker.fetch(2, 1);
        assertFalse(quorum.isDone(), "two replicas in one rack have it");
        broker.fetch(3, 1);
        assertEquals(Errors.NONE, now(quorum));
        assertEquals(1, broker.highWatermark());
    }

    @Test
    void aShrinkThatLeavesARackIsNotedWithIt() {
        degrade("x");
        CompletableFuture<PartitionResponse> all = broker.produce(ALL);
        broker.fetch(2, 1);
        broker.leaderProposesShrink();
        assertEquals("LedgerNote(1 rack(s) below 0; begins at 0, 2 rack(s) promised)", note());
        assertFalse(all.isDone());
        broker.controllerNotes();
        assertEquals(Errors.NONE, now(all));
    }

    @Test
    void aRangeEndsAtTheHighWatermarkWhenAReplicaOfTheRackIsProposed() {
        broker.controllerChangesIsr(List.of(1, 2));
        degrade("x");
        broker.controllerNotes();
        CompletableFuture<PartitionResponse> all = broker.produce(ALL);
        broker.everyoneFetches();
        assertEquals(Errors.NONE, now(all));
        broker.produce(QUORUM);
        broker.fetch(2, 2);
        broker.fetch(3, 2);
        assertEquals("LedgerNote(2 rack(s) below 2; ends before 2)", note());
        CompletableFuture<PartitionResponse> later = broker.produce(QUORUM);
        broker.fetch(2, 3);
        assertFalse(later.isDone(), "from the proposal on it has to be in both racks");
        broker.controllerNotes();
        assertEquals("[0-2 reached 2 rack(s)]", ledger());
        assertFalse(later.isDone());
        broker.fetch(3, 3);
        assertEquals(Errors.NONE, now(later));
    }

    @Test
    void anEndThatIsUnderWayIsNoLongerAnOpenRange() {
        broker.controllerChangesIsr(List.of(1, 2));
        degrade("x");
        broker.controllerNotes();
        broker.fetch(3, 0);
        assertEquals("LedgerNote(2 rack(s) below 0; ends before 0)", note());
        // The controller accepts it, and this broker is late to read that; replica 3 lags again
        Runnable late = broker.controllerNotesLate();
        CompletableFuture<PartitionResponse> all = broker.produce(ALL);
        broker.fetch(2, 1);
        broker.leaderProposesShrink();
        assertEquals("LedgerNote(1 rack(s) below 0; ends before 0; begins at 0, 2 rack(s) promised)", note());
        Runnable later = broker.controllerNotesLate();
        assertFalse(all.isDone(), "the range that this broker knows has ended");
        late.run();
        assertFalse(all.isDone());
        later.run();
        assertEquals(Errors.NONE, now(all));
    }

    @Test
    void aRangeEndsWithTheDegradeAndIsReachedLater() {
        broker.controllerChangesIsr(List.of(1, 2));
        degrade("x");
        broker.controllerNotes();
        broker.produce(ALL);
        broker.everyoneFetches();
        restore();
        assertEquals("LedgerNote(1 rack(s) below 1; ends before 1)", note());
        broker.controllerNotes();
        assertEquals("[0-1 2 rack(s)]", ledger());
        broker.fetch(3, 1);
        assertEquals("LedgerNote(2 rack(s) below 1)", note());
        broker.controllerNotes();
        assertEquals("[0-1 reached 2 rack(s)]", ledger());
    }

    @Test
    void aSecondDegradeHasARangeOfItsOwn() {
        broker.controllerChangesIsr(List.of(1, 2));
        degrade("x");
        broker.controllerNotes();
        broker.produce(ALL);
        broker.everyoneFetches();
        degrade("y");
        broker.controllerNotes();
        assertEquals("[0-1 2 rack(s), 1- 2 rack(s)]", ledger());
        assertNull(note());
    }
}
