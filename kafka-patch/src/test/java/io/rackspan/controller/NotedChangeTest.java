// SPDX-License-Identifier: Apache-2.0
package io.rackspan.controller;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.controller.ControllerFixture;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.MetadataVersion;

import io.rackspan.protocol.LedgerNote;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.Set;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

/** Notes in the ledger of a partition, by a complete controller: brokers 1 and 2 in rack a, 3 in rack b. */
final class NotedChangeTest {

    private static final String WHY = "to=1,from=2,since=2026-01-01T00:00:00Z,until=2026-01-02T00:00:00Z,by=User:a,reason=x";

    private static ControllerFixture controller() throws Exception {
        ControllerFixture controller = ControllerFixture.withBrokers(Map.of(), 1, "a", "a", "b");
        controller.createTopic(List.of(1, 2, 3), Map.of());
        return controller;
    }

    private static Errors propose(ControllerFixture controller, LedgerNote note, Integer... isr) throws Exception {
        AlterPartitionRequestData proposal = controller.proposal(isr);
        LedgerNote.into(note, proposal.topics().get(0).partitions().get(0));
        return controller.answer(proposal);
    }

    @Test
    void aNoteIsKeptWithTheIsrOrAlone() throws Exception {
        try (ControllerFixture controller = controller()) {
            assertEquals(Errors.NONE, propose(controller, LedgerNote.of(1, 5, 1).beginning(5, 2, WHY), 1, 2));
            assertEquals("[5- 2 rack(s)]", controller.partition().ledger.toString());
            assertEquals(Set.of(1, 2), controller.isr());
            int epoch = controller.partition().partitionEpoch;
            assertEquals(Errors.NONE, propose(controller, LedgerNote.of(1, 9, 2).ending(9), 1, 2));
            assertEquals("[5-9 2 rack(s)]", controller.partition().ledger.toString());
            assertEquals(epoch + 1, controller.partition().partitionEpoch, "the epoch moves, so that no earlier proposal is accepted");
            assertEquals(Errors.NONE, propose(controller, LedgerNote.of(1, 9, 2).ending(9), 1, 2));
            assertEquals(epoch + 1, controller.partition().partitionEpoch, "a note of what is there already is no change");
        }
    }

    @Test
    void aProposalThatIsRefusedNotesNothing() throws Exception {
        try (ControllerFixture controller = controller()) {
            AlterPartitionRequestData proposal = controller.proposal(1, 2);
            LedgerNote.into(LedgerNote.of(1, 5, 1).beginning(5, 2, WHY), proposal.topics().get(0).partitions().get(0));
            controller.alterIsr(1, 3);
            assertEquals(Errors.INVALID_UPDATE_VERSION, controller.answer(proposal));
            assertEquals("[]", controller.partition().ledger.toString());
        }
    }

    @Test
    void itOutlivesOtherChangesAndSnapshots() throws Exception {
        try (ControllerFixture controller = controller()) {
            propose(controller, LedgerNote.of(1, 5, 1).beginning(5, 2, WHY), 1, 2);
            controller.fence(1);
            assertEquals(2, controller.leader());
            controller.reassign(2, 3);
            PartitionRegistration now = controller.partition();
            assertEquals("[5- 2 rack(s)]", now.ledger.toString());
            PartitionRecord snapshot = (PartitionRecord) now.toRecord(Uuid.ONE_UUID, 0,
                new ImageWriterOptions.Builder(MetadataVersion.latestTesting()).setEligibleLeaderReplicasEnabled(true).build()).message();
            assertEquals(now, new PartitionRegistration(snapshot));
            PartitionRegistration without = now.merge(new org.apache.kafka.common.metadata.PartitionChangeRecord());
            assertEquals(now.ledger, without.ledger);
            snapshot.unknownTaggedFields().clear();
            assertNotEquals(now, new PartitionRegistration(snapshot));
        }
    }
}
