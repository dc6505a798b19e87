// SPDX-License-Identifier: Apache-2.0
package io.rackspan.controller;

import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.utils.LogCaptureAppender;
import org.apache.kafka.controller.ControllerFixture;

import io.rackspan.metadata.StrictPlacement;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Placement in too few racks, in a complete controller: brokers 1 and 2 in rack a, 3 and 4 in rack b. */
final class StrictPlacementTest {

    private static final ConfigResource CLUSTER = new ConfigResource(ConfigResource.Type.BROKER, "");
    private static final String RACKS = "min.insync.racks";
    private static final String STRICT = "min.insync.racks.strict.placement";
    private static final String REFUSED = "INVALID_REPLICA_ASSIGNMENT: 1 partition(s) of topic %s would be in fewer racks than min.insync.racks=2: " +
        "replicas [1, 2] are in [a]. min.insync.racks.strict.placement refuses that: place them in more racks, or create the topic with min.insync.racks=1.";

    private static ControllerFixture controller(int level) throws Exception {
        return ControllerFixture.withBrokers(Map.of(), level, "a", "a", "b", "b");
    }

    @Test
    void aTopicIsNotCreatedInTooFewRacksForItsValueOrForTheDefault() throws Exception {
        try (ControllerFixture controller = controller(1)) {
            controller.alter(CLUSTER, STRICT, "true");
            assertEquals(REFUSED.formatted("own"), controller.creationRefusal("own", List.of(1, 2), Map.of(RACKS, "2")));
            assertEquals("", controller.creationRefusal("none", List.of(1, 2), Map.of()));
            assertEquals("", controller.creationRefusal("wide", List.of(1, 3), Map.of(RACKS, "2")));
            controller.alter(CLUSTER, RACKS, "2");
            assertEquals(REFUSED.formatted("default"), controller.creationRefusal("default", List.of(1, 2), Map.of()));
            assertEquals("", controller.creationRefusal("one", List.of(1, 2), Map.of(RACKS, "1")));
            assertEquals("", controller.creationRefusal("lenient", List.of(1, 2), Map.of(STRICT, "false")));
            assertEquals("", controller.creationRefusal("__consumer_offsets", List.of(1, 2), Map.of()));
        }
    }

    @Test
    void partitionsAreNeitherAddedNorMovedThere() throws Exception {
        try (ControllerFixture controller = controller(1)) {
            controller.createTopic(List.of(1, 3), Map.of(RACKS, "2", STRICT, "true"));
            assertEquals(REFUSED.formatted("t"), controller.createPartition(List.of(1, 2)));
            assertEquals(REFUSED.formatted("t"), controller.reassignment(List.of(1, 2)));
            assertEquals("", controller.reassignment(List.of(2, 4)));
            assertEquals("", controller.cancelReassignment());
            assertEquals("", controller.createPartition(List.of(2, 4)));
        }
    }

    @Test
    void withoutItTheControllerWarns() throws Exception {
        try (ControllerFixture controller = controller(1); LogCaptureAppender log = LogCaptureAppender.createAndRegister(StrictPlacement.class)) {
            assertEquals("", controller.creationRefusal("narrow", List.of(1, 2), Map.of(RACKS, "2")));
            assertEquals(List.of("1 partition(s) of topic narrow would be in fewer racks than min.insync.racks=2: replicas [1, 2] are in [a]. Writes to them with " +
                "acks=all will be refused: place them in more racks, or set min.insync.racks=1 on the topic."), log.getMessages("WARN"));
        }
    }

    @Test
    void itIsOfLevel1() throws Exception {
        try (ControllerFixture controller = controller(0)) {
            assertTrue(controller.refusal(CLUSTER, STRICT, "true").contains("needs rackspan.version 1"));
            controller.alter(CLUSTER, STRICT, "false");
            assertEquals("", controller.creationRefusal("t", List.of(1, 2), Map.of()));
        }
    }
}
