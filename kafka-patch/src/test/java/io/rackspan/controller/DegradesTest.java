// SPDX-License-Identifier: Apache-2.0
package io.rackspan.controller;

import org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.controller.ControllerFixture;
import org.apache.kafka.test.TestUtils;

import io.rackspan.common.Degrade;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** min.insync.racks lowered for a time, in a complete controller: brokers 1 and 2 in rack a, 3 and 4 in rack b. */
final class DegradesTest {

    private static final ConfigResource TOPIC = new ConfigResource(ConfigResource.Type.TOPIC, "t");
    private static final ConfigResource CLUSTER = new ConfigResource(ConfigResource.Type.BROKER, "");
    private static final String RACKS = "min.insync.racks";
    private static final String FORM = "It must be to=RACKS,for=NUMBER and s, m, h or d,reason=1 to 200 characters";

    private static ControllerFixture controller(int level) throws Exception {
        return ControllerFixture.withBrokers(Map.of(), level, "a", "a", "b", "b");
    }

    private static void create(ControllerFixture controller, Map<String, String> configs) throws Exception {
        controller.createTopic(List.of(1, 3, 2, 4), configs);
    }

    private static Degrade degrade(ControllerFixture controller) throws Exception {
        return Degrade.of(controller.configs(TOPIC).get(Degrade.NAME));
    }

    @Test
    void aDegradeKeepsTheFormerValueAndIsRestored() throws Exception {
        try (ControllerFixture controller = controller(1)) {
            create(controller, Map.of(RACKS, "2", "min.insync.replicas", "2"));
            controller.alter(TOPIC, Degrade.NAME, "to=1,for=2h,reason=rack b, and its switch, are down");
            Degrade degrade = degrade(controller);
            assertEquals("1", controller.configs(TOPIC).get(RACKS));
            assertEquals(List.of(1, "2", "User:ANONYMOUS", "rack b, and its switch, are down"), List.of(degrade.to(), degrade.from(), degrade.by(), degrade.reason()));
            assertEquals(Duration.ofHours(2), Duration.between(degrade.since(), degrade.until()));
            controller.alter(TOPIC, "retention.ms", "1000");
            assertEquals(degrade, degrade(controller), "another setting changes nothing");
            controller.alter(TOPIC, Degrade.NAME, null);
            assertEquals("2", controller.configs(TOPIC).get(RACKS));
            assertNull(degrade(controller));
            controller.alter(TOPIC, Degrade.NAME, null);
            assertEquals("2", controller.configs(TOPIC).get(RACKS), "what is not degraded stays as it is");
        }
    }

    @Test
    void aTopicOfTheClusterDefaultFollowsItAgain() throws Exception {
        try (ControllerFixture controller = controller(1)) {
            controller.alter(CLUSTER, RACKS, "2");
            create(controller, Map.of());
            controller.alter(TOPIC, Degrade.NAME, "to=1,for=30m,reason=x");
            assertEquals("1", controller.configs(TOPIC).get(RACKS));
            controller.alter(TOPIC, Degrade.NAME, null);
            assertNull(controller.configs(TOPIC).get(RACKS));
        }
    }

    @Test
    void itEndsByItself() throws Exception {
        try (ControllerFixture controller = controller(1)) {
            create(controller, Map.of(RACKS, "2", "min.insync.replicas", "2"));
            controller.alter(TOPIC, Degrade.NAME, "to=1,for=1s,reason=x");
            TestUtils.waitForCondition(() -> controller.configs(TOPIC).get(RACKS).equals("2"), 60_000, "the former value");
            assertFalse(controller.configs(TOPIC).containsKey(Degrade.NAME));
            controller.alterIsr(1, 2);
            assertEquals(Set.of(3, 4), controller.eligible(), "leavers are eligible by two racks again");
        }
    }

    @Test
    void oneThatEndsMakesTheControllerForgetEligibleReplicasAsAnyChangeDoes() throws Exception {
        try (ControllerFixture controller = controller(1)) {
            create(controller, Map.of(RACKS, "2", "min.insync.replicas", "2"));
            controller.alterIsr(1, 2);
            assertEquals(Set.of(3, 4), controller.eligible());
            controller.alter(TOPIC, Degrade.NAME, "to=1,for=1s,reason=x");
            assertEquals(Set.of(), controller.eligible(), "the high watermark moves without them");
            TestUtils.waitForCondition(() -> !controller.configs(TOPIC).containsKey(Degrade.NAME), 60_000, "the end");
            assertEquals(Set.of(), controller.eligible());
        }
    }

    @Test
    void aValueThatIsSetMeanwhileStays() throws Exception {
        try (ControllerFixture controller = controller(1)) {
            create(controller, Map.of(RACKS, "2"));
            controller.alter(TOPIC, Degrade.NAME, "to=1,for=2h,reason=x");
            controller.alter(TOPIC, RACKS, "3");
            assertNull(degrade(controller));
            assertEquals("3", controller.configs(TOPIC).get(RACKS));
        }
    }

    @Test
    void aValueWithASignIsKeptAsANumber() throws Exception {
        try (ControllerFixture controller = controller(1)) {
            create(controller, Map.of(RACKS, " +2 "));
            controller.alter(TOPIC, Degrade.NAME, "to=1,for=2h,reason=x");
            assertEquals("2", degrade(controller).from());
            controller.alter(TOPIC, Degrade.NAME, null);
            assertEquals("2", controller.configs(TOPIC).get(RACKS));
        }
    }

    @Test
    void aSecondOneKeepsWhatTheFirstLowered() throws Exception {
        try (ControllerFixture controller = controller(1)) {
            create(controller, Map.of(RACKS, "3"));
            controller.alter(TOPIC, Degrade.NAME, "to=2,for=2h,reason=x");
            controller.alter(TOPIC, Degrade.NAME, "to=1,for=1d,reason=y");
            assertEquals("3", degrade(controller).from());
            assertEquals("1", controller.configs(TOPIC).get(RACKS));
            controller.alter(TOPIC, Degrade.NAME, null);
            assertEquals("3", controller.configs(TOPIC).get(RACKS));
        }
    }

    @Test
    void aRequestThatIsNoneIsRefused() throws Exception {
        try (ControllerFixture controller = controller(1)) {
            create(controller, Map.of(RACKS, "2"));
            for (String wrong : List.of("", "to=1", "to=0,for=1h,reason=x", "to=1,for=1w,reason=x", "to=1,for=1h,reason=", "to=1,for=1h,reason=a\nb",
                "to=1,for=1h,reason=" + "x".repeat(201)))
                assertTrue(controller.refusal(TOPIC, Degrade.NAME, wrong).endsWith(FORM), wrong);
            assertTrue(controller.refusal(TOPIC, Degrade.NAME, "to=1,for=169h,reason=x").contains("It can last 7 days at most"));
            assertTrue(controller.refusal(TOPIC, Degrade.NAME, "to=2,for=1h,reason=x").endsWith("Topic t requires 2 rack(s): to must be less"));
            assertTrue(controller.refusal(CLUSTER, Degrade.NAME, "to=1,for=1h,reason=x").contains("cannot be set here"));
            assertEquals("2", controller.configs(TOPIC).get(RACKS));
        }
    }

    @Test
    void onlyTheControllerWritesTheStoredForm() throws Exception {
        String stored = "to=1,from=2,since=2026-01-01T00:00:00Z,until=2026-01-02T00:00:00Z,by=User:mallory,reason=x";
        try (ControllerFixture controller = controller(1)) {
            assertTrue(assertThrows(AssertionError.class, () -> create(controller, Map.of(RACKS, "1", Degrade.NAME, stored))).getMessage().contains("cannot be set here"));
            create(controller, Map.of(RACKS, "2"));
            assertTrue(controller.refusal(TOPIC, Degrade.NAME, stored).endsWith(FORM));
            assertThrows(AssertionError.class, () -> controller.legacyAlter(TOPIC, Map.of(RACKS, "1", Degrade.NAME, stored)));
            controller.alter(TOPIC, Degrade.NAME, "to=1,for=2h,reason=x");
            Map<String, String> all = controller.configs(TOPIC);
            controller.legacyAlter(TOPIC, all);
            assertEquals(all, controller.configs(TOPIC), "the older request keeps one that it repeats");
        }
    }

    @Test
    void itIsOfLevel1() throws Exception {
        try (ControllerFixture controller = controller(0)) {
            create(controller, Map.of());
            assertTrue(controller.refusal(TOPIC, Degrade.NAME, "to=1,for=1h,reason=x").contains("needs rackspan.version 1"));
        }
        try (ControllerFixture controller = controller(1)) {
            create(controller, Map.of(RACKS, "2"));
            controller.alter(TOPIC, Degrade.NAME, "to=1,for=1h,reason=x");
            assertTrue(controller.update("rackspan.version", 0, UpgradeType.SAFE_DOWNGRADE, false).contains("topic t min.insync.racks.degrade=to=1,from=2"));
            controller.alter(TOPIC, Degrade.NAME, null);
            controller.alter(TOPIC, RACKS, null);
            assertEquals("", controller.update("rackspan.version", 0, UpgradeType.SAFE_DOWNGRADE, false));
        }
    }
}
