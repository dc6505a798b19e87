// SPDX-License-Identifier: Apache-2.0
package io.rackspan.controller;

import org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.controller.ControllerFixture;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.MetadataVersion;

import io.rackspan.protocol.Electable;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Map;
import java.util.Set;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** The electable set of a partition in a complete controller: proposals, snapshots, and changes of the level. */
final class ElectableControllerTest {

    private static final String FEATURE = "rackspan.version";
    private static final Electable FIRST = Electable.of(List.of(1, 2));

    /** Brokers 1 to 4 in racks of their own, and a topic on 1, 2 and 3. */
    private static ControllerFixture controller(int level) throws Exception {
        ControllerFixture controller = ControllerFixture.withBrokers(Map.of(), level, "a", "b", "c", "d");
        controller.createTopic(List.of(1, 2, 3), Map.of("min.insync.replicas", "2"));
        return controller;
    }

    private static PartitionRecord snapshot(PartitionRegistration partition) {
        return (PartitionRecord) partition.toRecord(Uuid.ONE_UUID, 0,
            new ImageWriterOptions.Builder(MetadataVersion.latestTesting()).setEligibleLeaderReplicasEnabled(true).build()).message();
    }

    @Test
    void aSetIsCommittedWithAnIsrOrAlone() throws Exception {
        try (ControllerFixture controller = controller(2)) {
            assertEquals("[1, 2]", controller.alterElectable(List.of(1, 2), 1, 2));
            assertEquals("[1, 2]", controller.electable());
            assertEquals(Set.of(1, 2), controller.isr());
            controller.alterIsr(1, 2, 3);
            assertEquals("[1, 2]", controller.electable(), "a proposal without a set leaves it");
            int epoch = controller.partition().partitionEpoch;
            assertEquals("[1, 3]", controller.alterElectable(List.of(1, 3), 1, 2, 3));
            assertEquals("[1, 3]", controller.electable());
            assertEquals(epoch + 1, controller.partition().partitionEpoch, "no earlier proposal is accepted");
            assertEquals("[1, 3]", controller.alterElectable(List.of(1, 3), 1, 2, 3));
            assertEquals(epoch + 1, controller.partition().partitionEpoch, "what is there already is no change");
            assertEquals("[]", controller.alterElectable(List.of(), 1, 2, 3));
            assertEquals("[]", controller.electable());
        }
    }

    @Test
    void theAnswerToAProposalWithoutASetHasTheCommittedOne() throws Exception {
        try (ControllerFixture controller = controller(2)) {
            controller.alterElectable(List.of(1, 2), 1, 2, 3);
            assertEquals("[1, 2]", Electable.in(controller.fullAnswer(controller.proposalWith(null, 1, 2)), Electable.NONE).toString());
        }
    }

    private static void assertRefused(ControllerFixture controller, AlterPartitionRequestData proposal) throws Exception {
        PartitionRegistration before = controller.partition();
        assertEquals(Errors.INELIGIBLE_REPLICA, controller.answer(proposal));
        PartitionRegistration after = controller.partition();
        assertEquals(before.electable, after.electable);
        assertEquals(List.of(1, 2, 3), List.copyOf(controller.isr()));
        assertEquals(before.partitionEpoch + 1, after.partitionEpoch, "a copy of it must not be accepted later");
        assertEquals(before.leaderEpoch, after.leaderEpoch);
        assertEquals(Errors.INVALID_UPDATE_VERSION, controller.answer(proposal));
    }

    @Test
    void aSetIsRefusedWithoutTheLeaderOrWithOneOutsideTheProposedIsr() throws Exception {
        try (ControllerFixture controller = controller(2)) {
            assertRefused(controller, controller.proposalWith(Electable.of(List.of(2, 3)), 1, 2, 3));
            assertRefused(controller, controller.proposalWith(Electable.of(List.of(1, 3)), 1, 2));
            assertRefused(controller, controller.proposalWith(Electable.of(List.of(1, 4)), 1, 2, 3));
            assertRefused(controller, controller.proposalWith(FIRST.withUnclean(2), 1, 2));
            controller.alterElectable(List.of(1, 2), 1, 2, 3);
            assertRefused(controller, controller.proposalWith(Electable.of(List.of(1, 3)), 1, 2));
        }
    }

    @Test
    void aMemberThatHasStartedAgainSinceIsRefused() throws Exception {
        try (ControllerFixture controller = controller(2)) {
            controller.alterIsr(1, 3);
            AlterPartitionRequestData proposal = controller.proposalWith(FIRST, 1, 2, 3);
            controller.start(2, "b", false);
            controller.heartbeat(2, false);
            assertEquals(Errors.INELIGIBLE_REPLICA, controller.answer(proposal));
            assertEquals("[]", controller.electable());
        }
    }

    @Test
    void aProposalThatIsTooLateChangesNothing() throws Exception {
        try (ControllerFixture controller = controller(2)) {
            AlterPartitionRequestData late = controller.proposalWith(FIRST, 1, 2, 3);
            AlterPartitionRequestData none = controller.proposalWith(Electable.NONE, 1, 2, 3);
            controller.alterElectable(List.of(1, 3), 1, 2, 3);
            assertEquals(Errors.INVALID_UPDATE_VERSION, controller.answer(late));
            assertEquals(Errors.INVALID_UPDATE_VERSION, controller.answer(none));
            assertEquals("[1, 3]", controller.electable());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void belowLevel2NoSetIsAcceptedAndNoRecordHasTheField(int level) throws Exception {
        try (ControllerFixture controller = controller(level)) {
            AlterPartitionRequestData proposal = controller.proposalWith(FIRST, 1, 2);
            assertEquals(Errors.INELIGIBLE_REPLICA, controller.answer(proposal));
            assertEquals(Set.of(1, 2, 3), controller.isr());
            assertEquals("[]", controller.alterElectable(List.of(), 1, 2), "a proposal of none is no reason to refuse the ISR");
            assertEquals(Set.of(1, 2), controller.isr());
            controller.start(2, "b", false);
            controller.unregister(2);
            assertEquals(List.of(), snapshot(controller.partition()).unknownTaggedFields());
        }
    }

    @Test
    void itOutlivesOtherChangesAndSnapshots() throws Exception {
        try (ControllerFixture controller = controller(2)) {
            controller.alterElectable(List.of(1, 2), 1, 2, 3);
            controller.fence(1, 3);
            controller.reassign(1, 2, 4);
            controller.start(1, "a", false);
            PartitionRegistration now = controller.partition();
            assertEquals("[1, 2] with unclean [1]", now.electable.toString());
            assertEquals(now, new PartitionRegistration(snapshot(now)));
            assertEquals(now.electable, now.merge(new PartitionChangeRecord()).electable);
            assertEquals(now.electable, now.merge(new PartitionChangeRecord().setLeader(2).setIsr(List.of(2))).electable);
        }
    }

    @Test
    void registrationsDifferByTheirSets() throws Exception {
        try (ControllerFixture controller = controller(2)) {
            PartitionRegistration none = controller.partition();
            PartitionRegistration with = none.merge(FIRST.intoChange(new PartitionChangeRecord()));
            PartitionRegistration marked = none.merge(FIRST.withUnclean(2).intoChange(new PartitionChangeRecord()));
            PartitionRegistration empty = with.merge(Electable.NONE.intoChange(new PartitionChangeRecord()));
            PartitionRegistration plain = none.merge(new PartitionChangeRecord());
            assertEquals(FIRST, with.electable);
            assertEquals(Electable.NONE, empty.electable);
            assertNotEquals(with, plain);
            assertNotEquals(with, marked);
            assertEquals(plain, none.merge(Electable.NONE.intoChange(new PartitionChangeRecord())));
            assertEquals(with.hashCode(), none.merge(Electable.of(List.of(2, 1)).intoChange(new PartitionChangeRecord())).hashCode());
            assertEquals("electable: [1, 2] -> [1, 2] with unclean [2]", marked.diff(with).split(", (?=\\D)")[0]);
            assertTrue(with.toString().contains("electable=[1, 2]"), with.toString());
        }
    }

    @Test
    void level2IsReachedFrom1AndLeftAgainWithoutASet() throws Exception {
        try (ControllerFixture controller = controller(1)) {
            assertEquals("", controller.update(FEATURE, 2, UpgradeType.UPGRADE, false));
            assertEquals(2, controller.level());
            controller.alterElectable(List.of(1, 2), 1, 2, 3);
            String refusal = controller.update(FEATURE, 1, UpgradeType.SAFE_DOWNGRADE, false);
            assertTrue(refusal.contains("topic t") || refusal.contains(": t."), refusal);
            assertTrue(refusal.contains("not all in-sync replicas have"), refusal);
            assertEquals(refusal, controller.update(FEATURE, 1, UpgradeType.SAFE_DOWNGRADE, true), "a dry run says the same");
            assertEquals(2, controller.level());
            assertEquals("[1, 2]", controller.electable());
            controller.alterElectable(List.of(), 1, 2, 3);
            assertEquals("", controller.update(FEATURE, 1, UpgradeType.SAFE_DOWNGRADE, false));
            assertEquals(1, controller.level());
        }
    }

    @Test
    void loweringTo0NamesSettingsAndSets() throws Exception {
        try (ControllerFixture controller = controller(2)) {
            controller.alter(new ConfigResource(ConfigResource.Type.TOPIC, "t"), "min.insync.racks", "2");
            controller.alterElectable(List.of(1, 2), 1, 2, 3);
            for (UpgradeType type : new UpgradeType[] {UpgradeType.SAFE_DOWNGRADE, UpgradeType.UNSAFE_DOWNGRADE}) {
                String refusal = controller.update(FEATURE, 0, type, false);
                assertTrue(refusal.contains("min.insync.racks=2"), refusal);
                assertTrue(refusal.contains("acks=min.insync.replicas"), refusal);
                assertEquals(2, controller.level());
            }
        }
    }

    @Test
    void aDeletedTopicIsNoReason() throws Exception {
        try (ControllerFixture controller = controller(2)) {
            controller.alterElectable(List.of(1, 2), 1, 2, 3);
            controller.deleteTopic();
            assertEquals("", controller.update(FEATURE, 1, UpgradeType.SAFE_DOWNGRADE, false));
        }
    }

    @Test
    void brokersThatDoNotKnowIt() throws Exception {
        try (ControllerFixture controller = controller(1)) {
            controller.startOld(5, "e");
            String refusal = controller.update(FEATURE, 2, UpgradeType.UPGRADE, false);
            assertTrue(refusal.contains("broker 5"), refusal);
            assertEquals(1, controller.level());
        }
    }
}
