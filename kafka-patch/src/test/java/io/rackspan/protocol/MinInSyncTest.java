// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.Node;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.types.RawTaggedField;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

final class MinInSyncTest {

    private static final Node A1 = new Node(1, "h", 1, "a");
    private static final Node A2 = new Node(2, "h", 2, "a");
    private static final Node B3 = new Node(3, "h", 3, "b");
    private static final Node GONE = new Node(4, "", -1);
    private static final Node RACKLESS = new Node(5, "h", 5);

    private static Node[] nodes(Node... nodes) {
        return nodes;
    }

    @Test
    void theFieldsSurviveEveryVersionThatHasThem() {
        for (short version = MinInSync.FIRST_VERSION; version <= ApiKeys.METADATA.latestVersion(); version++) {
            MetadataResponseTopic topic = new MetadataResponseTopic().setName("t");
            topic.unknownTaggedFields().addAll(MinInSync.of(3, 70_000).fields());
            MetadataResponseData sent = new MetadataResponseData();
            sent.topics().add(topic);
            MetadataResponseData read = new MetadataResponseData(new ByteBufferAccessor(MessageUtil.toByteBufferAccessor(sent, version).buffer()), version);
            assertEquals(MinInSync.of(3, 70_000), MinInSync.declaredIn(read.topics().find("t")), "version " + version);
        }
    }

    @Test
    void foreignFieldsAreNotRead() {
        MetadataResponseTopic topic = new MetadataResponseTopic().setName("t");
        assertEquals(MinInSync.UNKNOWN, MinInSync.declaredIn(topic));
        topic.unknownTaggedFields().add(new RawTaggedField(9999, new byte[] {0, 0, 0, 2}));
        topic.unknownTaggedFields().add(new RawTaggedField(MinInSync.REPLICAS_TAG, new byte[] {2}));
        topic.unknownTaggedFields().add(new RawTaggedField(MinInSync.RACKS_TAG, new byte[] {0, 0, 0, 2}));
        assertEquals(MinInSync.UNKNOWN, MinInSync.declaredIn(topic), "racks alone are half of it");
        topic.unknownTaggedFields().add(new RawTaggedField(MinInSync.REPLICAS_TAG, new byte[] {-1, 0, 0, 0}));
        assertEquals(MinInSync.UNKNOWN, MinInSync.declaredIn(topic));
    }

    @Test
    void replicasAndRacksMustBothBeMet() {
        Node[] all = nodes(A1, A2, B3);
        MinInSync min = MinInSync.of(2, 2);
        assertTrue(min.isMetBy(all, all));
        assertTrue(min.isMetBy(nodes(A1, B3), all));
        assertFalse(min.isMetBy(nodes(A1, A2), all), "one rack");
        assertFalse(min.isMetBy(nodes(B3), all), "one replica");
        assertTrue(MinInSync.of(2, 1).isMetBy(nodes(A1, A2), all));
        assertTrue(MinInSync.UNKNOWN.isMetBy(nodes(), all));
        assertTrue(MinInSync.of(2, 2).isMetBy(null, null), "as little as a very old broker reports");
    }

    @Test
    void allReplicasAreEnoughWhereMoreAreRequired() {
        assertTrue(MinInSync.of(3, 1).isMetBy(nodes(A1, B3), nodes(A1, B3)));
        assertFalse(MinInSync.of(3, 1).isMetBy(nodes(A1), nodes(A1, B3)));
    }

    @Test
    void aBrokerThatIsGoneIsInNoRackAndBrokersWithoutOneShareOne() {
        assertFalse(MinInSync.of(1, 2).isMetBy(nodes(A1, GONE), nodes(A1, GONE)));
        assertTrue(MinInSync.of(1, 2).isMetBy(nodes(A1, RACKLESS), nodes(A1, RACKLESS)));
        assertFalse(MinInSync.of(1, 2).isMetBy(nodes(RACKLESS, new Node(6, "h", 6, "")), nodes(RACKLESS)));
    }

    @Test
    void outOfReachOnlyIfAllRacksAreKnown() {
        assertTrue(MinInSync.of(1, 2).isOutOfReach(nodes(A1, A2)));
        assertFalse(MinInSync.of(1, 2).isOutOfReach(nodes(A1, B3)));
        assertFalse(MinInSync.of(1, 2).isOutOfReach(nodes(A1, GONE)));
        assertFalse(MinInSync.of(1, 3).isOutOfReach(nodes(A1, RACKLESS)));
        assertFalse(MinInSync.of(9, 1).isOutOfReach(nodes(A1)));
    }

    @Test
    void spanIsTheNumberOfDistinctRacks() {
        for (int seed = 0; seed < 300; seed++) {
            Random random = new Random(seed);
            List<Node> isr = new ArrayList<>();
            for (int id = 0; id < random.nextInt(7); id++)
                isr.add(new Node(id, "h", 1, "r" + random.nextInt(4)));
            long span = isr.stream().map(Node::rack).distinct().count();
            for (int racks = 2; racks <= 5; racks++)
                assertEquals(span >= racks, MinInSync.of(1, racks).isMetBy(isr.toArray(Node[]::new), nodes()), "seed " + seed + " racks " + racks);
        }
    }
}
