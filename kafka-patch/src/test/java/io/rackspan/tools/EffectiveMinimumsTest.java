// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools;

import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartitionInfo;

import org.junit.jupiter.api.Test;

import java.util.List;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

final class EffectiveMinimumsTest {

    private static final Node A1 = new Node(1, "h", 1, "a");
    private static final Node A2 = new Node(2, "h", 2, "a");
    private static final Node B3 = new Node(3, "h", 3, "b");

    private static String described(String replicas, String racks, Node... assigned) {
        return described("orders", replicas, racks, assigned);
    }

    private static String described(String topic, String replicas, String racks, Node... assigned) {
        Config config = new Config(List.of(new ConfigEntry("min.insync.replicas", replicas), new ConfigEntry("min.insync.racks", racks)));
        return EffectiveMinimums.describe(topic, config, new TopicPartitionInfo(0, assigned[0], List.of(assigned), List.of(assigned[0])));
    }

    @Test
    void addsNothingWhereTheValuesCanBeMet() {
        assertEquals("", described("1", "1", A1));
        assertEquals("", described("3", "2", A1, A2, B3));
        assertEquals("", EffectiveMinimums.describe("orders", new Config(List.of()), new TopicPartitionInfo(0, A1, List.of(A1), List.of())));
        assertEquals("", EffectiveMinimums.describe("orders", null, new TopicPartitionInfo(0, A1, List.of(A1), List.of())));
    }

    @Test
    void addsTheEffectiveValuesWhereTheyCannot() {
        assertEquals("\tMinInSyncReplicas: 3 (effective 2)", described("3", "1", A1, A2));
        assertEquals("\tMinInSyncRacks: 2 (effective 1, acks=all is refused)", described("2", "2", A1, A2));
        assertEquals("\tMinInSyncReplicas: 4 (effective 3)\tMinInSyncRacks: 3 (effective 2, acks=all is refused)", described("4", "3", A1, A2, B3));
    }

    @Test
    void tooFewReplicasAreRefusedFromLevel1OnUnlessTheTopicIsClamped() {
        TopicPartitionInfo two = new TopicPartitionInfo(0, A1, List.of(A1, A2), List.of(A1));
        Config reject = new Config(List.of(new ConfigEntry("min.insync.replicas", "3")));
        Config clamp = new Config(List.of(new ConfigEntry("min.insync.replicas", "3"), new ConfigEntry("min.insync.replicas.inconsistent.action", "clamp")));
        String refused = "\tMinInSyncReplicas: 3 (effective 2, acks=all is refused)";
        String effective = "\tMinInSyncReplicas: 3 (effective 2)";
        assertEquals(refused, EffectiveMinimums.describe("orders", new ConfigAtLevel(reject, () -> true), two));
        assertEquals(effective, EffectiveMinimums.describe("orders", new ConfigAtLevel(reject, () -> false), two));
        assertEquals(effective, EffectiveMinimums.describe("orders", new ConfigAtLevel(clamp, () -> true), two));
        assertEquals(effective, EffectiveMinimums.describe("__consumer_offsets", new ConfigAtLevel(reject, () -> true), two));
        ConfigAtLevel unread = new ConfigAtLevel(reject, () -> {
            throw new AssertionError("the level was looked up");
        });
        assertEquals("", EffectiveMinimums.describe("orders", unread, new TopicPartitionInfo(0, A1, List.of(A1, A2, B3), List.of(A1))));
    }

    @Test
    void writesToInternalTopicsAreNotRefused() {
        for (String topic : List.of("__consumer_offsets", "__remote_log_metadata"))
            assertEquals("\tMinInSyncRacks: 2 (effective 1)", described(topic, "1", "2", A1, A2));
    }

    @Test
    void anInternalTopicRequiresNoMoreRacksThanItsReplicasAreIn() {
        Config two = new Config(List.of(new ConfigEntry("min.insync.racks", "2")));
        TopicPartitionInfo inOneRack = new TopicPartitionInfo(0, A1, List.of(A1, A2), List.of(A1));
        TopicPartitionInfo lacksB = new TopicPartitionInfo(0, A1, List.of(A1, A2, B3), List.of(A1, A2));
        assertTrue(RackDescription.isUnder("orders", two, inOneRack));
        assertFalse(RackDescription.isUnder("__consumer_offsets", two, inOneRack));
        assertFalse(RackDescription.isAt("__consumer_offsets", two, inOneRack));
        assertTrue(RackDescription.isUnder("__consumer_offsets", two, lacksB));
    }

    @Test
    void addsNothingOfRacksThatAreNotKnown() {
        assertEquals("", described("1", "2", A1, new Node(9, "", -1)));
        assertEquals("", described("1", "2", A1, new Node(9, "h", 9)));
    }
}
