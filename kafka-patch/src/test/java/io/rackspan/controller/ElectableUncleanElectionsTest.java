// SPDX-License-Identifier: Apache-2.0
package io.rackspan.controller;

import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.protocol.Errors;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Set;

import static org.junit.jupiter.api.Assertions.assertEquals;

/** Unclean elections where a partition has an electable set, by a complete controller. */
final class ElectableUncleanElectionsTest extends ElectableTopic {

    @Test
    void anUncleanElectionByTheToolIsRefusedWhileThereIsALeader() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3, 4);
        assertEquals(Errors.ELECTION_NOT_NEEDED, controller.elect(ElectionType.UNCLEAN));
        assertEquals("[1, 3]", controller.electable());
    }

    @Test
    void aLostSetDoesNotElectFromTheIsr() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3, 4);
        restart(3, false);
        restart(1, false);
        assertEquals("[1, 3] with unclean [1, 3]", controller.electable());
        assertEquals(Set.of(2, 4), controller.isr());
        assertEquals(NOBODY, controller.leader());
        assertEquals(Errors.NONE, controller.elect(ElectionType.UNCLEAN));
        assertEquals("[]", controller.electable());
    }

    @Test
    void anUncleanElectionEmptiesTheSet() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3, 4);
        controller.fence(3, 1);
        assertEquals(NOBODY, controller.leader());
        assertEquals(Errors.NONE, controller.elect(ElectionType.UNCLEAN));
        assertEquals(2, controller.leader());
        assertEquals(Set.of(2), controller.isr());
        assertEquals("[]", controller.electable());
        controller.heartbeat(3, false);
        controller.fence(2);
        assertEquals(NOBODY, controller.leader(), "the former members are as any others");
    }

    @Test
    void anUncleanElectionByTheSettingEmptiesTheSetOnlyWhereNoMemberMayLead() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3, 4);
        controller.alter(new ConfigResource(ConfigResource.Type.TOPIC, "t"), "unclean.leader.election.enable", "true");
        controller.fence(1);
        assertEquals(3, controller.leader());
        assertEquals("[1, 3]", controller.electable());
        assertEquals(Set.of(2, 3, 4), controller.isr());
        controller.fence(3);
        assertEquals(2, controller.leader());
        assertEquals("[]", controller.electable());
        assertEquals(Set.of(2), controller.isr());
    }

    /** Without a set the controller would elect 4, and nothing that acks=all acknowledged would be lost. */
    @Test
    void anUncleanElectionTakesAReplicaInSyncBeforeOthers() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 3, 4);
        controller.alter(new ConfigResource(ConfigResource.Type.TOPIC, "t"), "unclean.leader.election.enable", "true");
        controller.fence(1, 3);
        assertEquals(4, controller.leader(), "2 comes first among the replicas, and is not in sync");
        assertEquals("[]", controller.electable());
        assertEquals(Set.of(4), controller.isr());
    }

    @Test
    void anUncleanElectionTakesAnEligibleReplicaBeforeOthersWhereNobodyIsInSync() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 3, 4);
        controller.fence(3, 4, 1);
        assertEquals(Set.of(), controller.isr());
        assertEquals(Set.of(1, 4), controller.eligible());
        controller.heartbeat(4, false);
        assertEquals(NOBODY, controller.leader());
        assertEquals(Errors.NONE, controller.elect(ElectionType.UNCLEAN));
        assertEquals(4, controller.leader(), "2 comes first among the replicas, and is not eligible");
    }

    /** A member whose process was killed has all that was acknowledged, of any acks. */
    @Test
    void anUncleanElectionTakesAMarkedMemberBeforeOthers() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 3);
        controller.fence(3, 1);
        restart(3, false);
        assertEquals("[1, 3] with unclean [3]", controller.electable());
        assertEquals(NOBODY, controller.leader());
        assertEquals(Errors.NONE, controller.elect(ElectionType.UNCLEAN));
        assertEquals(3, controller.leader(), "2 comes first among the replicas, and is not in sync");
    }
}
