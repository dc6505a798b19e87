// SPDX-License-Identifier: Apache-2.0
package io.rackspan.controller;

import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.protocol.Errors;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Set;

import static org.junit.jupiter.api.Assertions.assertEquals;

/** Who is elected where a partition has an electable set, by a complete controller. */
final class ElectableElectionsTest extends ElectableTopic {

    @Test
    void theNextMemberFollowsALeaderThatFails() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3, 4);
        int epoch = controller.partition().leaderEpoch;
        controller.fence(1);
        assertEquals(3, controller.leader(), "2 comes first among the replicas");
        assertEquals(epoch + 1, controller.partition().leaderEpoch);
        assertEquals("[1, 3]", controller.electable(), "a fenced member stays");
        controller.fence(3);
        assertEquals(NOBODY, controller.leader(), "2 and 4 are in sync, and may lack what was acknowledged");
        assertEquals(Set.of(2, 4), controller.isr());
        assertEquals(Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE, electAny());
        controller.heartbeat(1, false);
        assertEquals(1, controller.leader());
        assertEquals(Set.of(1, 2, 4), controller.isr(), "it leads with those that are in sync");
    }

    /** Asks for any leader, which only changes something where there is none. */
    private Errors electAny() throws Exception {
        Errors answer = controller.elect(ElectionType.PREFERRED);
        return answer == Errors.PREFERRED_LEADER_NOT_AVAILABLE ? Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE : answer;
    }

    @Test
    void aMemberOutsideTheIsrAndTheElrIsElected() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3, 4);
        controller.alterIsr(1, 2, 4);
        assertEquals(Set.of(), controller.eligible());
        controller.fence(1);
        assertEquals(3, controller.leader());
        assertEquals(Set.of(2, 3, 4), controller.isr());
        assertEquals(Set.of(), controller.eligible());
        assertEquals("[1, 3]", controller.electable());
    }

    @Test
    void aMemberInTheElrIsElectedWhereTheIsrIsNotEmpty() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 3);
        controller.alterIsr(1);
        assertEquals(Set.of(3), controller.eligible());
        controller.alterIsr(1, 2, 4);
        controller.alterIsr(1, 2);
        controller.fence(2);
        assertEquals(Set.of(2), controller.eligible());
        controller.fence(1);
        assertEquals(3, controller.leader());
        assertEquals(Set.of(3), controller.isr());
        assertEquals(Set.of(1, 2), controller.eligible());
    }

    @Test
    void aMemberThatIsElectedStaysEligibleForTheRest() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3);
        controller.fence(2, 3, 1);
        assertEquals(NOBODY, controller.leader());
        controller.heartbeat(2, false);
        assertEquals(NOBODY, controller.leader(), "2 may be eligible, and is no member");
        controller.heartbeat(3, false);
        assertEquals(3, controller.leader());
        assertEquals(Set.of(3), controller.isr());
        assertEquals(Set.of(1), controller.eligible());
    }

    /** The preferred leader is back, in sync and active, and another leads. */
    private void preferredIsBack() throws Exception {
        controller.fence(1);
        controller.heartbeat(1, false);
        assertEquals(2, controller.leader());
        controller.alterElectable(List.of(2, 3), 1, 2, 3, 4);
    }

    @Test
    void aPreferredElectionIsOfAMember() throws Exception {
        preferredIsBack();
        assertEquals(Errors.PREFERRED_LEADER_NOT_AVAILABLE, controller.elect(ElectionType.PREFERRED));
        assertEquals(2, controller.leader());
        controller.alterElectable(List.of(1, 2), 1, 2, 3, 4);
        assertEquals(Errors.NONE, controller.elect(ElectionType.PREFERRED));
        assertEquals(1, controller.leader());
        assertEquals("[1, 2]", controller.electable());
    }

    @Test
    void balancingIsToAMember() throws Exception {
        preferredIsBack();
        controller.balance();
        assertEquals(2, controller.leader());
        controller.alterElectable(List.of(1, 2), 1, 2, 3, 4);
        controller.balance();
        assertEquals(1, controller.leader());
    }

    @Test
    void aControlledShutdownHandsOverToAMember() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3, 4);
        controller.shutDown(1);
        assertEquals(3, controller.leader());
        assertEquals("[1, 3]", controller.electable());
        restart(1, true);
        assertEquals("[1, 3]", controller.electable(), "the shutdown was clean");
        controller.shutDown(3);
        assertEquals(1, controller.leader());
        assertEquals(Set.of(1, 2, 4), controller.isr());
    }

    @Test
    void aMemberThatShutsDownIsNotElected() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3, 4);
        controller.shutDown(3);
        controller.fence(1);
        assertEquals(NOBODY, controller.leader());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aMemberOfTheIsrIsMarkedAfterAnUncleanShutdown(boolean fencedBefore) throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3, 4);
        if (fencedBefore)
            controller.fence(3);
        restart(3, false);
        assertEquals("[1, 3] with unclean [3]", controller.electable());
        controller.fence(1);
        assertEquals(NOBODY, controller.leader());
        restart(1, true);
        assertEquals(1, controller.leader());
        controller.alterElectable(List.of(1, 3), 1, 2, 3, 4);
        assertEquals("[1, 3]", controller.electable(), "it has joined anew");
    }

    @Test
    void aLeaderIsMarkedBeforeItsSessionEnds() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3, 4);
        controller.fence(3);
        controller.start(1, "a", false);
        assertEquals(NOBODY, controller.leader());
        assertEquals("[1, 3] with unclean [1]", controller.electable());
        controller.heartbeat(1, false);
        assertEquals(NOBODY, controller.leader());
        controller.heartbeat(3, false);
        assertEquals(3, controller.leader());
    }

    @Test
    void aMemberInTheElrIsMarked() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 3);
        controller.alterIsr(1);
        assertEquals(Set.of(3), controller.eligible());
        restart(3, false);
        assertEquals(Set.of(), controller.eligible());
        assertEquals("[1, 3] with unclean [3]", controller.electable());
    }

    @Test
    void aMemberInNeitherIsMarked() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3, 4);
        controller.alterIsr(1, 2);
        int epoch = controller.partition().partitionEpoch;
        restart(3, false);
        assertEquals("[1, 3] with unclean [3]", controller.electable());
        assertEquals(epoch + 1, controller.partition().partitionEpoch, "what the leader proposed before is not accepted");
        assertEquals(1, controller.leader());
        restart(3, false);
        assertEquals(epoch + 1, controller.partition().partitionEpoch, "it is marked already");
        restart(2, false);
        assertEquals("[1, 3] with unclean [3]", controller.electable(), "2 is no member");
    }

    @Test
    void theMembersThatAreMarkedDoNotComeBackByACleanRestart() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3, 4);
        restart(3, false);
        restart(3, true);
        assertEquals("[1, 3] with unclean [3]", controller.electable());
        controller.fence(1);
        assertEquals(NOBODY, controller.leader());
    }

    /** Members 1 and 3, of which 1 led last, come back from unclean shutdowns when nobody is in sync. */
    private void allMarked() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 3);
        controller.fence(3, 1);
        assertEquals(Set.of(), controller.isr());
        assertEquals(Set.of(1, 3), controller.eligible());
        restart(1, false);
        assertEquals(NOBODY, controller.leader(), "3 may have what 1 has lost");
    }

    @Test
    void theLastKnownLeaderIsElectedWhenAllMembersAreMarked() throws Exception {
        allMarked();
        restart(3, false);
        assertEquals(1, controller.leader());
        assertEquals(Set.of(1), controller.isr());
        assertEquals("[]", controller.electable(), "the election was unclean");
    }

    /** An operator gives up the other member, which the ELR has no more. Nothing else happens in the cluster. */
    @Test
    void theLastKnownLeaderIsElectedWhenTheLastOtherMemberIsUnregistered() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 3);
        controller.alter(new ConfigResource(ConfigResource.Type.TOPIC, "t"), "min.insync.replicas", "1");
        controller.alterIsr(1);
        controller.fence(3);
        restart(1, false);
        assertEquals(List.of(NOBODY, Set.of(), Set.of()), List.of(controller.leader(), controller.isr(), controller.eligible()));
        assertEquals("[1, 3] with unclean [1]", controller.electable());
        controller.unregister(3);
        assertEquals(1, controller.leader());
        assertEquals("[]", controller.electable());
    }

    @Test
    void anUnregisteredMemberIsMarked() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3, 4);
        controller.fence(3);
        controller.unregister(3);
        assertEquals("[1, 3] with unclean [3]", controller.electable());
        restart(3, false);
        controller.fence(1);
        assertEquals(NOBODY, controller.leader());
    }

    @Test
    void aLeaderThatIsUnregisteredIsFollowedByAMember() throws Exception {
        controller.alterElectable(List.of(1, 3), 1, 2, 3, 4);
        controller.unregister(1);
        assertEquals(3, controller.leader());
        assertEquals("[1, 3] with unclean [1]", controller.electable());
    }

    /** The broker has a second disk. */
    private void secondDisk(int broker) throws Exception {
        controller.setDisks(broker, 1, 2);
        restart(broker, true);
    }

    @Test
    void aMemberWithAFailedDiskIsNotElected() throws Exception {
        secondDisk(3);
        controller.alterElectable(List.of(1, 3), 1, 2, 3, 4);
        controller.failDisk(3, 1);
        assertEquals("[1, 3]", controller.electable());
        assertEquals(1, controller.leader());
        controller.fence(1);
        assertEquals(NOBODY, controller.leader());
    }

    @Test
    void aLeaderWithAFailedDiskIsFollowedByAMember() throws Exception {
        secondDisk(1);
        controller.alterElectable(List.of(2, 3), 2, 3, 4);
        controller.alterElectable(List.of(1, 2), 1, 2, 3, 4);
        assertEquals(Errors.NONE, controller.elect(ElectionType.PREFERRED));
        controller.failDisk(1, 1);
        assertEquals(2, controller.leader());
        assertEquals(Set.of(2, 3, 4), controller.isr());
        assertEquals("[1, 2]", controller.electable());
        controller.fence(2);
        assertEquals(NOBODY, controller.leader());
    }

    /** A disk that failed is taken out of log.dirs, and the broker stopped and started: what it has of the partition begins anew on another disk. */
    @Test
    void aMemberIsMarkedWhoseReplicaBeginsAnewOnAnotherDisk() throws Exception {
        secondDisk(3);
        controller.alterElectable(List.of(1, 3), 1, 2, 3, 4);
        controller.failDisk(3, 1);
        controller.setDisks(3, 2);
        restart(3, true);
        assertEquals("[1, 3]", controller.electable());
        controller.assignDisk(3, 2);
        assertEquals("[1, 3] with unclean [3]", controller.electable());
        controller.fence(1);
        assertEquals(NOBODY, controller.leader());
    }

    @Test
    void aMemberThatMovesToAnotherDiskOrReportsItsOwnAgainIsNotMarked() throws Exception {
        secondDisk(3);
        controller.alterElectable(List.of(1, 3), 1, 2, 3, 4);
        controller.assignDisk(3, 1);
        controller.assignDisk(3, 2);
        assertEquals("[1, 3]", controller.electable());
        controller.failDisk(3, 2);
        controller.assignDisk(3, 2);
        assertEquals("[1, 3]", controller.electable());
        controller.fence(1);
        assertEquals(NOBODY, controller.leader());
    }
}
