// SPDX-License-Identifier: Apache-2.0
package io.rackspan.controller;

import org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidRegistrationException;
import org.apache.kafka.controller.ControllerFixture;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** The level of rackspan.version in a complete controller: brokers 1 and 2 in rack a, 3 and 4 in rack b. */
final class RackspanLevelTest {

    private static final ConfigResource TOPIC = new ConfigResource(ConfigResource.Type.TOPIC, "t");
    private static final ConfigResource CLUSTER = new ConfigResource(ConfigResource.Type.BROKER, "");
    private static final String RACKS = "min.insync.racks";
    private static final String FEATURE = "rackspan.version";
    private static final String INVALID = "The update failed for all features since the following feature had an error: Invalid update version ";

    private static ControllerFixture controller(Map<String, Object> properties, int level) throws Exception {
        return ControllerFixture.withBrokers(properties, level, "a", "a", "b", "b");
    }

    private static String raise(ControllerFixture controller) throws Exception {
        return controller.update(FEATURE, 1, UpgradeType.UPGRADE, false);
    }

    private static String lower(ControllerFixture controller) throws Exception {
        return controller.update(FEATURE, 0, UpgradeType.SAFE_DOWNGRADE, false);
    }

    @Test
    void settingsOfTheLevelAreRefusedBelowIt() throws Exception {
        try (ControllerFixture controller = controller(Map.of(), 0)) {
            controller.createTopic(List.of(1, 3, 2, 4), Map.of(RACKS, "1", "min.insync.replicas", "2"));
            assertEquals("min.insync.racks=2 cannot be set for topic t: it needs rackspan.version 1, and the cluster is at level 0. Raise it with " +
                "kafka-features.sh --bootstrap-server HOST:PORT upgrade --feature rackspan.version=2.", controller.refusal(TOPIC, RACKS, "2"));
            assertTrue(controller.refusal(CLUSTER, RACKS, "3").startsWith("min.insync.racks=3 cannot be set for the cluster default: it needs"));
            assertTrue(controller.refusal(TOPIC, "acks.all.scope", "min.insync.replicas").startsWith("acks.all.scope=min.insync.replicas cannot be set"));
            controller.alter(TOPIC, "acks.all.scope", "isr");
            controller.alter(TOPIC, "min.insync.replicas.inconsistent.action", "clamp");
            assertEquals("", raise(controller));
            controller.alter(TOPIC, RACKS, "2");
            controller.alterIsr(1, 2);
            assertEquals(Set.of(3, 4), controller.eligible());
        }
    }

    @Test
    void aStaticValueIsImportedWhenTheClusterIsFormed() throws Exception {
        try (ControllerFixture controller = controller(Map.of(RACKS, " 2 "), 1)) {
            assertEquals("2", controller.configs(CLUSTER).get(RACKS));
            controller.createTopic(List.of(1, 3, 2, 4), Map.of("min.insync.replicas", "2"));
            controller.alterIsr(1, 2);
            assertEquals(Set.of(3, 4), controller.eligible());
            controller.alter(CLUSTER, RACKS, null);
            assertEquals(Set.of(), controller.eligible(), "from then on nobody asks for server.properties");
        }
    }

    @Test
    void aStaticValueIsImportedWhenTheLevelIsRaised() throws Exception {
        try (ControllerFixture controller = controller(Map.of(RACKS, "2"), 0)) {
            controller.createTopic(List.of(1, 3, 2, 4), Map.of("min.insync.replicas", "2"));
            assertNull(controller.configs(CLUSTER).get(RACKS));
            controller.alterIsr(1, 2);
            assertEquals(Set.of(), controller.eligible(), "level 0 counts replicas only");
            controller.alterIsr(1, 2, 3, 4);
            assertEquals("", controller.update(FEATURE, 1, UpgradeType.UPGRADE, true));
            assertEquals(0, controller.level(), "a dry run changes nothing");
            assertNull(controller.configs(CLUSTER).get(RACKS));
            assertEquals("", raise(controller));
            assertEquals(1, controller.level());
            assertEquals("2", controller.configs(CLUSTER).get(RACKS));
            controller.alterIsr(1, 2);
            assertEquals(Set.of(3, 4), controller.eligible());
        }
    }

    @Test
    void aClusterDefaultWinsOverTheStaticValue() throws Exception {
        try (ControllerFixture controller = controller(Map.of(RACKS, "2"), 0)) {
            controller.alter(CLUSTER, RACKS, "1");
            assertEquals("", raise(controller));
            assertEquals("1", controller.configs(CLUSTER).get(RACKS));
        }
    }

    @Test
    void raisingIsRefusedWhileStockNodesAreRegistered() throws Exception {
        try (ControllerFixture controller = controller(Map.of(), 0)) {
            controller.startStock(5, "c");
            controller.startStock(6, "c");
            controller.startStockController(7);
            assertEquals(INVALID + "1 for feature rackspan.version. These nodes do not support it: broker 5, broker 6, controller 7. Start them from a " +
                "distribution that does, or unregister those that are gone.", raise(controller));
            assertEquals(0, controller.level());
        }
    }

    @Test
    void aStockBrokerCannotRegisterAtLevel1() throws Exception {
        try (ControllerFixture controller = controller(Map.of(), 0)) {
            controller.startStock(5, "c");
            controller.unregister(5);
            assertEquals("", raise(controller));
            Exception refused = assertThrows(ExecutionException.class, () -> controller.startStock(6, "c"));
            assertTrue(refused.getMessage().contains("Unable to register because the broker does not support finalized version 1 of rackspan.version"), refused.getMessage());
        }
    }

    @Test
    void raisingNamesTopicsThatWouldBeRefused() throws Exception {
        try (ControllerFixture controller = controller(Map.of(), 0)) {
            controller.createTopic(List.of(1, 3), Map.of("min.insync.replicas", "3"));
            assertEquals(INVALID + "1 for feature rackspan.version. Topics with fewer replicas than min.insync.replicas would refuse acks=all from then on: t. " +
                "Lower the setting or add replicas, set min.insync.replicas.inconsistent.action=clamp on them, or set it to reject if that is wanted.", raise(controller));
            controller.alter(TOPIC, "min.insync.replicas.inconsistent.action", "clamp");
            assertEquals("", raise(controller));
        }
    }

    @Test
    void loweringIsRefusedWhileSettingsOfTheLevelAreInUse() throws Exception {
        try (ControllerFixture controller = controller(Map.of(), 1)) {
            controller.createTopic(List.of(1, 3, 2, 4), Map.of("min.insync.replicas", "2", RACKS, "2"));
            controller.alter(CLUSTER, "acks.all.scope", "min.insync.replicas");
            controller.alterIsr(1, 2);
            assertEquals(INVALID + "0 for feature rackspan.version. Settings of the present level are in use: the cluster default " +
                "acks.all.scope=min.insync.replicas, topic t min.insync.racks=2. Remove them with kafka-racks.sh preflight --level 0 --remove --bootstrap-server HOST:PORT.",
                lower(controller));
            assertEquals(Set.of(3, 4), controller.eligible());
            controller.alter(CLUSTER, "acks.all.scope", null);
            controller.alter(TOPIC, RACKS, null);
            assertEquals("", lower(controller));
            assertEquals(0, controller.level());
            assertEquals(Set.of(), controller.eligible(), "stock would take those for complete");
        }
    }

    /** Stock elects one of them, acknowledges by it alone, and would still elect the others. */
    @Test
    void loweringIsRefusedWhileAPartitionWithoutALeaderHasMoreEligibleReplicasThanOnStock() throws Exception {
        try (ControllerFixture controller = controller(Map.of(), 1)) {
            controller.createTopic(List.of(1, 3, 2, 4), Map.of("min.insync.replicas", "2"));
            controller.fence(1, 2, 3, 4);
            assertEquals(Set.of(3, 4), controller.eligible());
            controller.alter(TOPIC, "min.insync.replicas", "1");
            assertEquals(INVALID + "0 for feature rackspan.version. Partitions of these topics have no leader and several eligible replicas, and one " +
                "in-sync replica suffices: t. At level 0 the others would stay eligible when one of them leads and acknowledges alone. Start their " +
                "brokers, or set min.insync.replicas of these topics to 2 or more until they have leaders.", lower(controller));
            controller.heartbeat(4, false);
            assertEquals(4, controller.leader());
            assertEquals("", lower(controller));
        }
    }

    /** Kafka reads "+2" and " 2" as 2. */
    @Test
    void aValueIsRecognisedHoweverItIsWritten() throws Exception {
        for (String two : List.of("+2", " 2", "02"))
            try (ControllerFixture controller = controller(Map.of(RACKS, two), 0)) {
                controller.createTopic(List.of(1, 3, 2, 4), Map.of("min.insync.replicas", "2"));
                assertTrue(controller.refusal(TOPIC, RACKS, two).contains("it needs rackspan.version 1"), two);
                assertEquals("", raise(controller));
                assertEquals(two.trim(), controller.configs(CLUSTER).get(RACKS), "imported");
                controller.alter(CLUSTER, RACKS, "1");
                controller.alter(TOPIC, RACKS, two);
                assertThrows(ExecutionException.class, () -> controller.start(5, null, false));
                assertTrue(lower(controller).contains("in use: topic t min.insync.racks=" + two), two);
            }
    }

    /** Brokers have no use for it, and another controller may have another one. */
    @Test
    void anActionInServerPropertiesDoesNotExcuseTopics() throws Exception {
        String action = "min.insync.replicas.inconsistent.action";
        try (ControllerFixture controller = controller(Map.of(action, "clamp"), 0)) {
            controller.createTopic(List.of(1, 3), Map.of("min.insync.replicas", "3"));
            assertTrue(raise(controller).contains("would refuse acks=all from then on: t."));
            controller.alter(CLUSTER, action, "clamp");
            assertEquals("", raise(controller));
        }
    }

    @Test
    void allReasonsNotToRaiseAreNamedAtOnce() throws Exception {
        try (ControllerFixture controller = controller(Map.of(RACKS, "2"), 0)) {
            controller.createTopic(List.of(1, 2), Map.of("min.insync.replicas", "3"));
            String refused = raise(controller);
            assertTrue(refused.contains("Topics in fewer racks would refuse acks=all from then on: t."), refused);
            assertTrue(refused.contains("Topics with fewer replicas than min.insync.replicas would refuse acks=all from then on: t."), refused);
        }
    }

    @Test
    void eligibleLeaderReplicasAreNeeded() throws Exception {
        try (ControllerFixture controller = controller(Map.of(), 1)) {
            assertEquals(INVALID + "0 for feature eligible.leader.replicas.version. It is needed by rackspan.version=1: lower that to 0 first.",
                controller.update("eligible.leader.replicas.version", 0, UpgradeType.SAFE_DOWNGRADE, false));
            assertEquals("", lower(controller));
            assertEquals("", controller.update("eligible.leader.replicas.version", 0, UpgradeType.SAFE_DOWNGRADE, false));
            assertEquals(INVALID + "1 for feature rackspan.version. rackspan.version could not be set to 1 because it depends on eligible.leader.replicas.version level 1",
                raise(controller));
        }
    }

    @Test
    void aBrokerWithoutARackCannotRegisterWhileATopicRequiresRacks() throws Exception {
        try (ControllerFixture controller = controller(Map.of(), 1)) {
            controller.createTopic(List.of(1, 3, 2, 4), Map.of("min.insync.replicas", "2"));
            controller.alter(TOPIC, RACKS, "2");
            for (String rack : new String[] {null, ""}) {
                Exception refused = assertThrows(ExecutionException.class, () -> controller.start(5, rack, false));
                assertEquals(InvalidRegistrationException.class, refused.getCause().getClass());
                assertEquals("Broker 5 has no broker.rack, and racks are required by topic t. Set broker.rack on this broker, or set min.insync.racks to 1.",
                    refused.getCause().getMessage());
            }
            assertThrows(ExecutionException.class, () -> controller.start(1, null, true), "nor can one join again without its rack");
            controller.start(5, "c", false);
            controller.alter(TOPIC, RACKS, "1");
            controller.start(6, null, false);
        }
    }

    /** No metadata was published to any cache. */
    @Test
    void racksCannotBeRequiredOnceABrokerWithoutOneIsRegistered() throws Exception {
        try (ControllerFixture controller = controller(Map.of(), 1)) {
            controller.createTopic(List.of(1, 3, 2, 4), Map.of());
            controller.start(5, null, false);
            String why = " cannot have min.insync.racks=2: brokers [5] have no broker.rack. Set broker.rack on every broker and restart it, or " +
                "unregister brokers that are gone.";
            assertEquals("Topic t" + why, controller.refusal(TOPIC, RACKS, "2"));
            assertEquals("The cluster default" + why, controller.refusal(CLUSTER, RACKS, "2"));
            controller.start(5, "c", true);
            controller.alter(TOPIC, RACKS, "2");
        }
    }

    @Test
    void raisingNamesTopicsInFewerRacksThanTheStaticValueRequires() throws Exception {
        try (ControllerFixture controller = controller(Map.of(RACKS, "2"), 0)) {
            controller.createTopic(List.of(1, 2), Map.of());
            assertEquals(INVALID + "1 for feature rackspan.version. This controller's server.properties have min.insync.racks=2, which would become the " +
                "cluster default. Topics in fewer racks would refuse acks=all from then on: t. Reassign them, set min.insync.racks=1 on them or as the " +
                "cluster default, or remove the line.", raise(controller));
            controller.alter(TOPIC, RACKS, "1");
            assertEquals("", raise(controller));
            assertEquals("2", controller.configs(CLUSTER).get(RACKS));
        }
    }
}
