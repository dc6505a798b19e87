// SPDX-License-Identifier: Apache-2.0
package io.rackspan.controller;

import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.controller.ControllerFixture;

import io.rackspan.protocol.Electable;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.Set;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Reassignments of a partition with an electable set, by a complete controller: brokers 1 to 5 in racks of their own, the partition on 1, 2 and 3. */
final class ElectableReassignmentTest {

    private ControllerFixture controller;

    @BeforeEach
    void start() throws Exception {
        controller = ControllerFixture.withBrokers(Map.of(), 2, "a", "b", "c", "d", "e");
        controller.createTopic(List.of(1, 2, 3), Map.of("min.insync.replicas", "2"));
    }

    @AfterEach
    void stop() throws Exception {
        controller.close();
    }

    @Test
    void itEndsAtOnceWhereTheSetIsWithinTheTarget() throws Exception {
        controller.alterElectable(List.of(1, 2), 1, 2, 3);
        controller.reassign(1, 2, 4);
        controller.alterIsr(1, 2, 3, 4);
        assertEquals(Set.of(1, 2, 4), controller.replicas());
        assertEquals(Set.of(1, 2, 4), controller.isr());
        assertEquals("[1, 2]", controller.electable());
        assertEquals(1, controller.leader());
    }

    @Test
    void itWaitsUntilTheSetIsWithinTheTarget() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3);
        controller.reassign(1, 2, 4);
        controller.alterIsr(1, 2, 3, 4);
        assertEquals(Set.of(1, 2, 3, 4), controller.replicas(), "3 is a member");
        assertEquals(1, controller.leader());
        controller.alterElectable(List.of(1, 4), 1, 2, 3, 4);
        assertEquals(Set.of(1, 2, 4), controller.replicas());
        assertEquals(Set.of(1, 2, 4), controller.isr());
        assertEquals("[1, 4]", controller.electable());
    }

    @Test
    void itEndsWhenTheSetIsEmptied() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3);
        controller.reassign(4, 5, 2);
        controller.alterIsr(1, 2, 3, 4, 5);
        assertEquals(Set.of(1, 2, 3, 4, 5), controller.replicas());
        assertEquals(1, controller.leader(), "no member may lead that stays");
        AlterPartitionRequestData proposal = controller.proposalWith(Electable.NONE, 1, 2, 3, 4, 5);
        assertEquals(Errors.NEW_LEADER_ELECTED, controller.answer(proposal));
        assertEquals(Set.of(2, 4, 5), controller.replicas());
        assertEquals(4, controller.leader());
    }

    @Test
    void aLeaderThatLeavesHandsOverToAMemberThatStaysFirst() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3);
        controller.reassign(2, 3, 4);
        assertEquals(Errors.NEW_LEADER_ELECTED, controller.answer(controller.proposalWith(null, 1, 2, 3, 4)));
        assertEquals(3, controller.leader(), "2 comes first, and is no member");
        assertEquals(Set.of(1, 2, 3, 4), controller.replicas());
        assertEquals(Set.of(1, 2, 3, 4), controller.isr());
        assertEquals("[1, 3]", controller.electable());
        controller.alterElectable(List.of(3, 4), 1, 2, 3, 4);
        assertEquals(Set.of(2, 3, 4), controller.replicas());
        assertEquals(3, controller.leader());
        assertEquals("[3, 4]", controller.electable());
    }

    @Test
    void theLeaderDoesNotHandOverToAFencedOrMarkedMember() throws Exception {
        controller.alterElectable(List.of(1, 2, 3), 1, 2, 3);
        controller.reassign(2, 3, 4);
        controller.start(2, "b", false);
        controller.heartbeat(2, false);
        controller.alterIsr(1, 2, 3);
        controller.fence(3);
        controller.alterIsr(1, 2, 4);
        assertEquals("[1, 2, 3] with unclean [2]", controller.electable());
        assertEquals(1, controller.leader());
        controller.heartbeat(3, false);
        assertEquals(1, controller.leader(), "3 is not in sync");
        assertEquals(Errors.NEW_LEADER_ELECTED, controller.answer(controller.proposalWith(null, 1, 2, 3, 4)));
        assertEquals(3, controller.leader());
    }

    @Test
    void theIsrOfTheTargetAndASetWithinItEndItTogether() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3);
        controller.reassign(1, 2, 4);
        controller.alterElectable(List.of(1, 4), 1, 2, 3, 4);
        assertEquals(Set.of(1, 2, 4), controller.replicas());
        assertEquals("[1, 4]", controller.electable());
    }

    @Test
    void aFencedMemberThatLeavesIsWaitedFor() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3);
        controller.reassign(1, 2, 4);
        controller.fence(3);
        controller.alterIsr(1, 2, 4);
        assertEquals(Set.of(1, 2, 3, 4), controller.replicas());
        controller.fence(1);
        assertEquals(-1, controller.leader());
        controller.heartbeat(3, false);
        assertEquals(3, controller.leader());
        assertEquals(Errors.NEW_LEADER_ELECTED, controller.answer(controller.proposalWith(Electable.of(List.of(2, 3)), 2, 3, 4)));
        assertEquals(2, controller.leader());
        controller.alterElectable(List.of(2, 4), 2, 3, 4);
        assertEquals(Set.of(1, 2, 4), controller.replicas());
    }

    @Test
    void aFailureOfTheLeaderInBetweenElectsAMemberOfEitherAssignment() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3);
        controller.reassign(1, 2, 4);
        controller.alterIsr(1, 2, 3, 4);
        controller.fence(1);
        assertEquals(3, controller.leader());
        assertEquals(Set.of(1, 2, 3, 4), controller.replicas());
    }

    /** Replica 4 is added, and is a member. */
    private void addedMember() throws Exception {
        controller.alterElectable(List.of(1, 2), 1, 2, 3);
        controller.reassign(1, 4, 5);
        controller.alterElectable(List.of(1, 4), 1, 2, 3, 4);
    }

    @Test
    void aCancellationIsRefusedWhileTheSetIsNotWithinWhatRemains() throws Exception {
        addedMember();
        String refusal = controller.cancelReassignment();
        assertTrue(refusal.startsWith("INVALID_REPLICA_ASSIGNMENT: Unable to cancel the reassignment of t-0: its electable set [1, 4] is not within [1, 2, 3]."), refusal);
        assertTrue(refusal.contains("unclean.leader.election.enable=true"), refusal);
        assertEquals("[1, 4]", controller.electable());
        assertEquals(Set.of(1, 2, 3, 4, 5), controller.replicas());
        controller.alterElectable(List.of(1, 2), 1, 2, 3, 4);
        assertEquals("", controller.cancelReassignment());
        assertEquals(Set.of(1, 2, 3), controller.replicas());
        assertEquals("[1, 2]", controller.electable());
    }

    @Test
    void anOperatorMayCancelAndLose() throws Exception {
        addedMember();
        controller.alter(new ConfigResource(ConfigResource.Type.TOPIC, "t"), "unclean.leader.election.enable", "true");
        assertEquals("", controller.cancelReassignment());
        assertEquals(Set.of(1, 2, 3), controller.replicas());
        assertEquals("[1]", controller.electable());
        controller.fence(1);
        assertEquals(2, controller.leader());
        assertEquals("[]", controller.electable());
    }

    @Test
    void anotherTargetKeepsTheMembersOfTheFirst() throws Exception {
        addedMember();
        assertEquals("", controller.reassignment(List.of(1, 2, 3)));
        controller.alterIsr(1, 2, 3, 4);
        assertTrue(controller.replicas().contains(4), "4 is a member: " + controller.replicas());
        assertEquals("[1, 4]", controller.electable());
        controller.alterElectable(List.of(1, 2), 1, 2, 3, 4);
        assertEquals("", controller.cancelReassignment());
        assertEquals(Set.of(1, 2, 3), controller.replicas());
    }

    @Test
    void withoutASetItEndsAsOnStock() throws Exception {
        controller.reassign(4, 5, 2);
        assertEquals(Errors.NEW_LEADER_ELECTED, controller.answer(controller.proposal(1, 2, 3, 4, 5)));
        assertEquals(Set.of(2, 4, 5), controller.replicas());
        assertEquals(4, controller.leader());
    }
}
