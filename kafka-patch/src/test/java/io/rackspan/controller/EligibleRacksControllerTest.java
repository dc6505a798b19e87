// SPDX-License-Identifier: Apache-2.0
package io.rackspan.controller;

import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.controller.ControllerFixture;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Map;
import java.util.Set;

import static org.junit.jupiter.api.Assertions.assertEquals;

/** The rule in a complete controller: brokers 1 and 2 in rack a, 3 and 4 in rack b. */
final class EligibleRacksControllerTest {

    private static final ConfigResource TOPIC = new ConfigResource(ConfigResource.Type.TOPIC, "t");
    private static final ConfigResource CLUSTER = new ConfigResource(ConfigResource.Type.BROKER, "");
    private static final String RACKS = "min.insync.racks";

    private static ControllerFixture controller(Map<String, Object> properties) throws Exception {
        return ControllerFixture.withBrokers(properties, 1, "a", "a", "b", "b");
    }

    private static ControllerFixture controller(List<Integer> replicas, String minReplicas, String minRacks) throws Exception {
        ControllerFixture controller = controller(Map.of());
        controller.createTopic(replicas, Map.of("min.insync.replicas", minReplicas, RACKS, minRacks));
        return controller;
    }

    private static ControllerFixture rackBLeft() throws Exception {
        ControllerFixture controller = controller(List.of(1, 3, 2, 4), "2", "2");
        controller.alterIsr(1, 2);
        assertEquals(Set.of(3, 4), controller.eligible());
        return controller;
    }

    @Test
    void completeReplicasAreElectedOverTornOnes() throws Exception {
        try (ControllerFixture controller = controller(List.of(1, 3, 2, 4), "2", "2")) {
            controller.alterIsr(1, 2);
            controller.fence(3, 4);
            assertEquals(Set.of(3, 4), controller.eligible());
            controller.fence(1, 2);
            assertEquals(Set.of(), controller.isr());
            for (int torn = 1; torn <= 2; torn++) {
                controller.start(torn, "a", false);
                controller.heartbeat(torn, false);
            }
            assertEquals(-1, controller.leader(), "a torn log was elected");
            assertEquals(Set.of(3, 4), controller.eligible());
            controller.start(4, "b", true);
            controller.heartbeat(4, false);
            assertEquals(4, controller.leader());
            assertEquals(Set.of(3), controller.eligible());
            controller.alterIsr(4, 1);
            assertEquals(Set.of(), controller.eligible());
        }
    }

    @ParameterizedTest
    @CsvSource(nullValues = "-", value = {"-,-,0", "2,-,2", "1,-,0", "2,1,0", "1,2,2", "-,' 2 ',2"})
    void theTopicWinsOverTheClusterDefault(String cluster, String topic, int eligible) throws Exception {
        try (ControllerFixture controller = controller(Map.of())) {
            if (cluster != null)
                controller.alter(CLUSTER, RACKS, cluster);
            controller.createTopic(List.of(1, 3, 2, 4), Map.of("min.insync.replicas", "2"));
            if (topic != null)
                controller.alter(TOPIC, RACKS, topic);
            controller.alterIsr(1, 2);
            assertEquals(eligible, controller.eligible().size());
        }
    }

    @Test
    void aChangedMinimumClearsTheEligibleReplicas() throws Exception {
        for (String value : new String[] {"1", "3", null})
            try (ControllerFixture controller = rackBLeft()) {
                controller.alter(TOPIC, RACKS, value);
                assertEquals(Set.of(), controller.eligible(), "set to " + value);
            }
        for (String value : new String[] {"2", "1"})
            try (ControllerFixture controller = rackBLeft()) {
                controller.alter(CLUSTER, RACKS, value);
                assertEquals(Set.of(), controller.eligible(), "cluster default set to " + value);
            }
        try (ControllerFixture controller = rackBLeft()) {
            controller.legacyAlter(TOPIC, Map.of("min.insync.replicas", "2", RACKS, "1"));
            assertEquals(Set.of(), controller.eligible());
        }
        try (ControllerFixture controller = rackBLeft()) {
            controller.legacyAlter(TOPIC, Map.of("min.insync.replicas", "2"));
            assertEquals(Set.of(), controller.eligible());
        }
        try (ControllerFixture controller = rackBLeft()) {
            controller.alter(TOPIC, "retention.ms", "100000");
            controller.alter(TOPIC, RACKS, "2");
            assertEquals(Set.of(3, 4), controller.eligible(), "nothing changed that the count of racks is based on");
        }
    }

    /** The minimum is lowered to let writes continue, and the partition has no leader that could acknowledge any before it has one again. */
    @ParameterizedTest
    @CsvSource(nullValues = "-", value = {"topic,min.insync.racks,1", "topic,min.insync.racks,-", "topic,min.insync.replicas,1",
        "cluster,min.insync.racks,1", "cluster,min.insync.replicas,1", "legacy,min.insync.racks,1"})
    void aMinimumThatChangesInAnOutageKeepsTheEligibleReplicas(String where, String name, String value) throws Exception {
        try (ControllerFixture controller = rackBLeft()) {
            controller.fence(3, 4, 1, 2);
            assertEquals(Set.of(1, 2, 3, 4), controller.eligible());
            if (where.equals("legacy"))
                controller.legacyAlter(TOPIC, Map.of("min.insync.replicas", "1", name, value));
            else
                controller.alter(where.equals("topic") ? TOPIC : CLUSTER, name, value);
            assertEquals(Set.of(1, 2, 3, 4), controller.eligible());
            controller.heartbeat(3, false);
            assertEquals(3, controller.leader());
            assertEquals(where.equals("legacy") ? Set.of() : Set.of(1, 2, 4), controller.eligible(), "the others stay unless broker 3 suffices alone");
        }
    }

    /** Its high watermark moves from then on without the others. */
    @Test
    void aLeaderElectedFromTheEligibleReplicasThatSufficesAloneLeavesNoneEligible() throws Exception {
        try (ControllerFixture controller = rackBLeft()) {
            controller.fence(3, 4, 1, 2);
            controller.alter(TOPIC, RACKS, "1");
            controller.alter(TOPIC, "min.insync.replicas", "1");
            assertEquals(Set.of(1, 2, 3, 4), controller.eligible());
            controller.heartbeat(3, false);
            assertEquals(3, controller.leader());
            assertEquals(Set.of(), controller.eligible());
        }
    }

    @Test
    void unregisteringTheOtherRackClearsTheEligibleReplicas() throws Exception {
        try (ControllerFixture controller = controller(List.of(1, 3, 2, 4), "1", "2")) {
            controller.fence(3, 4, 2);
            assertEquals(Set.of(2, 4), controller.eligible(), "3 left while 4 was in sync");
            controller.unregister(3);
            assertEquals(Set.of(2, 4), controller.eligible(), "4 still is in rack b");
            controller.unregister(4);
            assertEquals(Set.of(), controller.eligible(), "the leader lets the high watermark move, and 2 does not have all");
        }
    }

    @ParameterizedTest
    @CsvSource({"a,0", "c,2", "b,2"})
    void aBrokerThatComesBackInAnotherRack(String rack, int eligible) throws Exception {
        try (ControllerFixture controller = controller(List.of(1, 2, 3), "1", "2")) {
            controller.fence(3, 2);
            assertEquals(Set.of(2, 3), controller.eligible());
            controller.start(3, rack, true);
            assertEquals(eligible, controller.eligible().size());
        }
    }

    @ParameterizedTest
    @CsvSource({"a,0", "c,1"})
    void aBrokerThatChangesItsRackBeforeItIsMissed(String rack, int eligible) throws Exception {
        try (ControllerFixture controller = controller(List.of(1, 2, 3), "1", "2")) {
            controller.start(3, rack, true);
            assertEquals(Set.of(1, 2), controller.isr());
            assertEquals(eligible, controller.eligible().size());
        }
    }

    /** The change that elects another leader comes in the same batch. */
    @ParameterizedTest
    @ValueSource(strings = {"relabelled", "unregistered"})
    void theOnlyReplicaOfTheOtherRackLeavesItWhileItIsLeader(String how) throws Exception {
        try (ControllerFixture controller = controller(List.of(3, 1, 2), "1", "2")) {
            controller.fence(2, 1);
            assertEquals(Set.of(1), controller.eligible());
            controller.start(1, "a", true);
            controller.heartbeat(1, false);
            if (how.equals("relabelled"))
                controller.start(3, "a", true);
            else
                controller.unregister(3);
            assertEquals(1, controller.leader());
            assertEquals(Set.of(), controller.eligible(), "the leader lets the high watermark move, and 3 does not have all");
        }
    }

    @Test
    void anElectionIsNotForgottenWithTheRack() throws Exception {
        try (ControllerFixture controller = controller(List.of(1, 2, 3), "1", "2")) {
            controller.fence(3, 2, 1);
            assertEquals(Set.of(), controller.isr());
            controller.start(2, "b", true);
            controller.start(3, "a", true);
            controller.start(2, "a", true);
            assertEquals(Set.of(1, 2, 3), controller.eligible(), "no broker leads, so that no high watermark can move");
            controller.heartbeat(3, false);
            assertEquals(3, controller.leader());
            assertEquals(Set.of(), controller.eligible());
        }
    }

    /** What the leader lets readers see during the copy is in the old replicas only. */
    @Test
    void racksThatAReassignmentAddsCountWhenItEnds() throws Exception {
        try (ControllerFixture controller = controller(List.of(1, 2), "1", "2")) {
            controller.reassign(1, 2, 3);
            controller.alterIsr(1);
            assertEquals(Set.of(), controller.eligible(), "the old replicas are in one rack, as before");
            controller.alterIsr(1, 2);
            controller.alterIsr(1, 2, 3);
            controller.alterIsr(1, 2);
            assertEquals(Set.of(3), controller.eligible(), "it ended");
        }
    }

    @Test
    void racksOfReplicasBeingRemovedCountUntilItEnds() throws Exception {
        try (ControllerFixture controller = controller(List.of(1, 3), "1", "2")) {
            controller.reassign(1, 2);
            controller.alterIsr(1);
            assertEquals(Set.of(3), controller.eligible());
        }
    }

    /** Stock ends it with what is in sync, so that what was acknowledged is in one rack. */
    @Test
    void aReassignmentEndsWhenTheReplicasInSyncSpanEnoughRacks() throws Exception {
        try (ControllerFixture controller = controller(List.of(1, 3, 4), "1", "2")) {
            controller.fence(4);
            controller.reassign(1, 2, 4);
            controller.alterIsr(1, 2, 3);
            assertEquals(Set.of(1, 2, 3, 4), controller.replicas(), "1 and 2 are in one rack");
            controller.start(4, "b", true);
            controller.heartbeat(4, false);
            controller.alterIsr(1, 2, 3, 4);
            assertEquals(Set.of(1, 2, 4), controller.replicas());
            assertEquals(Set.of(1, 2, 4), controller.isr());
        }
    }

    @Test
    void aReassignmentThatWaitsForRacksEndsWhenItIsSubmittedAgain() throws Exception {
        try (ControllerFixture controller = controller(List.of(1, 3, 4), "1", "2")) {
            controller.fence(4);
            controller.reassign(1, 2, 4);
            controller.alterIsr(1, 2, 3);
            controller.alter(TOPIC, RACKS, "1");
            controller.reassign(1, 2, 4);
            assertEquals(Set.of(1, 2, 4), controller.replicas());
        }
    }

    @Test
    void aReassignmentIsNotCancelledWhereTheReplicasLeftInSyncSpanTooFewRacks() throws Exception {
        try (ControllerFixture controller = controller(List.of(1, 2, 3), "1", "2")) {
            controller.fence(3);
            controller.reassign(4, 3);
            controller.alterIsr(1, 2, 4);
            assertEquals("INVALID_REPLICA_ASSIGNMENT: Unable to cancel the reassignment of t-0: of the in-sync replicas [1, 2, 4] only [1, 2] would be left, " +
                "in 1 rack(s), but min.insync.replicas is 1 and min.insync.racks is 2. Acknowledged records might be in no other replica. " +
                "Wait until more of [3, 1, 2] are in sync, or set unclean.leader.election.enable=true on the topic.", controller.cancelReassignment());
            assertEquals(Set.of(1, 2, 4), controller.isr());
            controller.start(3, "b", true);
            controller.heartbeat(3, false);
            controller.alter(TOPIC, "unclean.leader.election.enable", "true");
            assertEquals("", controller.cancelReassignment());
            assertEquals(Set.of(1, 2), controller.isr());
        }
    }

    @ParameterizedTest
    @CsvSource({"1,1,''", "3,1,refused"})
    void withoutRacksTheNumberOfReplicasLeftInSyncCounts(String minReplicas, String minRacks, String refusal) throws Exception {
        try (ControllerFixture controller = controller(List.of(1, 2, 3), minReplicas, minRacks)) {
            controller.fence(3);
            controller.reassign(4, 3);
            controller.alterIsr(1, 2, 4);
            assertEquals(refusal.isEmpty(), controller.cancelReassignment().isEmpty());
        }
    }

    /** A value that was taken must not stop each later change of the topic's partitions. */
    @Test
    void blanksAroundAMinimumDoNotMatter() throws Exception {
        for (ConfigResource changed : List.of(TOPIC, CLUSTER))
            try (ControllerFixture controller = controller(Map.of())) {
                controller.createTopic(List.of(1, 3, 2, 4), Map.of());
                controller.alter(changed, "min.insync.replicas", " 2");
                controller.alter(changed, RACKS, "2 ");
                controller.alterIsr(1, 2);
                assertEquals(Set.of(3, 4), controller.eligible());
            }
    }

    /** Tools that apply settings again do this; a partition that waits for an eligible replica would never have a leader. */
    @Test
    void settingAMinimumToTheValueThatItHasKeepsEligibleReplicas() throws Exception {
        try (ControllerFixture controller = rackBLeft()) {
            controller.alter(CLUSTER, "min.insync.replicas", "1");
            controller.alter(CLUSTER, RACKS, "2");
            controller.alterIsr(1, 2, 3, 4);
            controller.alterIsr(1, 2);
            assertEquals(Set.of(3, 4), controller.eligible());
            controller.alter(CLUSTER, "min.insync.replicas", "1");
            controller.alter(CLUSTER, RACKS, "2");
            assertEquals(Set.of(3, 4), controller.eligible());
            controller.alter(CLUSTER, RACKS, "1");
            assertEquals(Set.of(), controller.eligible());
        }
    }

    /** Stock 4.3.1 fails here: the broker could never register again. */
    @Test
    void aBrokerRegistersAfterATopicWhoseEligibleReplicasWereClearedIsDeleted() throws Exception {
        for (ConfigResource changed : List.of(TOPIC, CLUSTER))
            try (ControllerFixture controller = controller(List.of(1, 3, 2, 4), "3", "1")) {
                controller.alterIsr(1, 2);
                assertEquals(Set.of(3, 4), controller.eligible());
                controller.alter(changed, "min.insync.replicas", "2");
                assertEquals(Set.of(), controller.eligible());
                controller.deleteTopic();
                controller.start(3, "b", false);
                controller.heartbeat(3, false);
            }
    }

    @Test
    void clearedReplicasThatBecomeEligibleAgainAreCountedOnce() throws Exception {
        try (ControllerFixture controller = controller(List.of(1, 3, 2, 4), "3", "1")) {
            controller.alterIsr(1, 2);
            controller.alter(TOPIC, "min.insync.replicas", "4");
            controller.alterIsr(1, 2, 3);
            controller.alterIsr(1, 2);
            assertEquals(Set.of(3), controller.eligible());
            controller.start(3, "b", false);
            assertEquals(Set.of(), controller.eligible());
            controller.deleteTopic();
            controller.start(3, "b", false);
            controller.heartbeat(3, false);
        }
    }
}
