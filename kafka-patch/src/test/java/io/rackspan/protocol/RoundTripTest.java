// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponsePartition;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.ProduceResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;

import org.junit.jupiter.api.Test;

import io.rackspan.stock.Variant;

import java.nio.ByteBuffer;
import java.util.List;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Messages of our client library read by the official one of the same version, and the reverse; in every version. */
final class RoundTripTest {

    private static final short LATEST_PRODUCE = ApiKeys.PRODUCE.latestVersion();
    private static final short LATEST_METADATA = ApiKeys.METADATA.latestVersion();

    private static String fields(Variant variant, String message, byte[] bytes) {
        return variant.call(String.class, "fields", message, bytes);
    }

    private static byte[] bytes(ApiMessage message, short version) {
        ByteBuffer buffer = MessageUtil.toByteBufferAccessor(message, version).buffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    @Test
    void theVariantsAreDifferentClasses() {
        assertEquals("10000 UNKNOWN_SERVER_ERROR null", World.STOCK.call(String.class, "errors", (short) 3, refusal(Errors.NOT_ENOUGH_RACKS, (short) 3)));
        assertEquals("10000 NOT_ENOUGH_RACKS null", World.OURS.call(String.class, "errors", (short) 3, refusal(Errors.NOT_ENOUGH_RACKS, (short) 3)));
        assertNotEquals(World.STOCK.call(String.class, "library"), World.OURS.call(String.class, "library"));
    }

    @Test
    void everyVersionOfEveryMessageIsTheSameInBothVariants() {
        List<?> messages = World.OURS.call(List.class, "messages");
        assertEquals(World.STOCK.call(List.class, "messages"), messages);
        assertTrue(messages.contains("PRODUCE request 13") && messages.contains("METADATA response 0") && messages.size() > 400, messages.toString());
        for (Object each : messages) {
            String message = (String) each;
            for (boolean sparse : new boolean[] {false, true}) {
                byte[] plain = World.OURS.call(byte[].class, "sample", message, sparse, false);
                for (boolean unknownTags : new boolean[] {false, true}) {
                    byte[] bytes = World.OURS.call(byte[].class, "sample", message, sparse, unknownTags);
                    assertArrayEquals(World.STOCK.call(byte[].class, "sample", message, sparse, unknownTags), bytes, message);
                    for (Variant variant : List.of(World.OURS, World.STOCK)) {
                        assertEquals(fields(World.OURS, message, plain), fields(variant, message, bytes), () -> message + " read by " + variant);
                        assertArrayEquals(bytes, variant.call(byte[].class, "again", message, bytes), () -> message + " read by " + variant);
                    }
                }
            }
        }
    }

    @Test
    void aProduceRequestOfOursIsThatOfAStockClientAndOneTag() {
        for (short version = ApiKeys.PRODUCE.oldestVersion(); version <= LATEST_PRODUCE; version++) {
            String message = "PRODUCE request " + version;
            byte[] ours = World.OURS.call(byte[].class, "produceRequest", version);
            byte[] stock = World.STOCK.call(byte[].class, "produceRequest", version);
            assertEquals(fields(World.STOCK, message, stock), fields(World.STOCK, message, ours));
            assertArrayEquals(ours, World.STOCK.call(byte[].class, "again", message, ours), "a stock client keeps what it does not know");
            ProduceRequestData read = new ProduceRequestData(new ByteBufferAccessor(ByteBuffer.wrap(ours)), version);
            assertEquals(version >= 9 ? 1 : 0, read.unknownTaggedFields().size(), message);
            read.unknownTaggedFields().clear();
            assertArrayEquals(stock, bytes(read, version), message);
            ProduceRequestData other = new ProduceRequestData(new ByteBufferAccessor(ByteBuffer.wrap(stock)), version);
            assertEquals(KnownErrors.STOCK, KnownErrors.declaredIn(other));
        }
    }

    /** Partition 0 is in sync in two racks, partition 1 in one. */
    private static MetadataResponseData metadata(boolean tagged) {
        MetadataResponseData data = new MetadataResponseData().setClusterId("c").setControllerId(1);
        for (int id = 1; id <= 2; id++)
            data.brokers().add(new MetadataResponseData.MetadataResponseBroker().setNodeId(id).setHost("h" + id).setPort(9092).setRack("r" + id));
        MetadataResponseTopic topic = new MetadataResponseTopic().setName("t");
        for (int partition = 0; partition < 2; partition++)
            topic.partitions().add(new MetadataResponsePartition().setPartitionIndex(partition).setLeaderId(1).setLeaderEpoch(4)
                .setReplicaNodes(List.of(1, 2)).setIsrNodes(partition == 0 ? List.of(1, 2) : List.of(1)));
        if (tagged)
            topic.unknownTaggedFields().addAll(MinInSync.of(1, 2).fields());
        data.topics().add(topic);
        return data;
    }

    @Test
    void aStockClientSkipsOurFieldsOfMetadata() {
        for (short version = ApiKeys.METADATA.oldestVersion(); version <= LATEST_METADATA; version++) {
            byte[] plain = bytes(metadata(false), version);
            byte[] withFields = bytes(metadata(version >= MinInSync.FIRST_VERSION), version);
            String message = "METADATA response " + version;
            assertEquals(version >= MinInSync.FIRST_VERSION, withFields.length > plain.length, message);
            assertEquals(fields(World.STOCK, message, plain), fields(World.STOCK, message, withFields));
            assertArrayEquals(withFields, World.STOCK.call(byte[].class, "again", message, withFields), message);
            String cluster = World.OURS.call(String.class, "cluster", version, plain);
            assertTrue(cluster.contains("t-1 leader h1:9092") && cluster.contains("replicas [1, 2] ISR [1]"), cluster);
            for (Variant variant : List.of(World.OURS, World.STOCK))
                assertEquals(cluster, variant.call(String.class, "cluster", version, withFields), message);
            assertEquals(2, ready(version, plain), "a stock broker's partitions are ready if they have a leader");
            assertEquals(version >= MinInSync.FIRST_VERSION ? 1 : 2, ready(version, withFields), message);
        }
    }

    private static int ready(short version, byte[] response) {
        return MetadataResponse.parse(new ByteBufferAccessor(ByteBuffer.wrap(response)), version).buildCluster().readyPartitionsForTopic("t").size();
    }

    private static byte[] refusal(Errors error, short version) {
        ProduceResponseData data = new ProduceResponseData();
        data.responses().add(new ProduceResponseData.TopicProduceResponse().setName("t").setPartitionResponses(List.of(
            new ProduceResponseData.PartitionProduceResponse().setIndex(0).setErrorCode(error.code()).setErrorMessage("why").setBaseOffset(-1))));
        return bytes(data, version);
    }

    @Test
    void eachRefusalKeepsItsMeaning() {
        for (short version = ApiKeys.PRODUCE.oldestVersion(); version <= LATEST_PRODUCE; version++)
            for (Errors error : Errors.values()) {
                PartitionResponse answer = new PartitionResponse(error, "why");
                KnownErrors.translate(answer, KnownErrors.STOCK);
                String text = version >= 8 ? "why" : "null";
                String meant = answer.error.code() + " " + answer.error + " " + text;
                assertEquals(meant, World.STOCK.call(String.class, "errors", version, refusal(answer.error, version)), "version " + version);
                assertEquals(error.code() + " " + error + " " + text, World.OURS.call(String.class, "errors", version, refusal(error, version)));
                assertFalse(meant.contains("UNKNOWN_SERVER_ERROR") && error != Errors.UNKNOWN_SERVER_ERROR, meant);
            }
    }
}
