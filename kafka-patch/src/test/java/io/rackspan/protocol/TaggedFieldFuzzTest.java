// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseBroker;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponsePartition;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.common.utils.ByteUtils;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Malformed tagged fields, in both directions: wrong lengths, huge ones, repeated, out of order, random bytes.
 * The result is a refused message or ignored fields, and memory use follows the bytes sent, not the lengths claimed.
 */
@Timeout(240)
final class TaggedFieldFuzzTest {

    private static final int SEEDS = 4_000;

    /** More than classes take that are loaded on the way, far less than the lengths that are claimed. */
    private static final long MOST_BYTES = 32 << 20;

    private static final int[] TAGS = {0, 1, 9_999, MinInSync.REPLICAS_TAG, KnownErrors.TAG, 10_002, 1 << 30};
    private static final int[] NUMBERS = {0, 1, 2, 3, 4, 5, 127, 128, 16_384, 1 << 27, Integer.MAX_VALUE, -1, Integer.MIN_VALUE};

    @Test
    void aProduceRequestIsReadOrRefused() {
        int read = 0;
        for (int seed = 0; seed < SEEDS; seed++) {
            Random random = new Random(seed);
            short version = (short) (9 + random.nextInt(ApiKeys.PRODUCE.latestVersion() - 8));
            ByteBuffer plain = MessageUtil.toByteBufferAccessor(new ProduceRequestData().setAcks((short) -1), version).buffer();
            byte[] section = section(random);
            // Without tags the last byte of a message is their number
            ByteBuffer bytes = ByteBuffer.allocate(plain.remaining() - 1 + section.length);
            bytes.put(plain.slice(0, plain.remaining() - 1)).put(section).flip();
            String what = "seed " + seed + ", version " + version;
            ProduceRequestData request = frugally(what, () -> new ProduceRequestData(new ByteBufferAccessor(bytes), version));
            if (request == null)
                continue;
            read++;
            int level = KnownErrors.declaredIn(request);
            assertTrue(level >= KnownErrors.STOCK && level <= Byte.MAX_VALUE, what);
            for (Errors error : Errors.values())
                KnownErrors.translate(new PartitionResponse(error), level);
        }
        assertTrue(read > SEEDS / 10 && read < SEEDS * 9 / 10, read + " of " + SEEDS + " could be read: that tries one case only");
    }

    @Test
    void aMetadataResponseIsReadOrRefused() {
        int read = 0;
        for (int seed = 0; seed < SEEDS; seed++) {
            Random random = new Random(seed);
            short version = (short) (MinInSync.FIRST_VERSION + random.nextInt(ApiKeys.METADATA.latestVersion() - MinInSync.FIRST_VERSION + 1));
            MetadataResponseTopic topic = new MetadataResponseTopic().setName("t").setTopicId(SmallBroker.TOPIC_ID);
            topic.partitions().add(new MetadataResponsePartition().setPartitionIndex(0).setLeaderId(1).setLeaderEpoch(1)
                .setReplicaNodes(List.of(1, 2)).setIsrNodes(List.of(1)));
            int before = -1;
            for (int tag : TAGS)
                if (tag > before && random.nextInt(3) > 0) {
                    topic.unknownTaggedFields().add(new RawTaggedField(tag, content(random)));
                    before = tag;
                }
            MetadataResponseData sent = new MetadataResponseData();
            for (int id = 1; id <= 2; id++)
                sent.brokers().add(new MetadataResponseBroker().setNodeId(id).setHost("h").setPort(1).setRack("r" + id));
            sent.topics().add(topic);
            byte[] bytes = bytes(MessageUtil.toByteBufferAccessor(sent, version).buffer());
            boolean damaged = random.nextBoolean();
            if (damaged)
                for (int flips = 1 + random.nextInt(3); flips > 0; flips--)
                    bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
            String what = "seed " + seed + ", version " + version;
            MetadataResponse response = frugally(what, () -> {
                MetadataResponse parsed = MetadataResponse.parse(new ByteBufferAccessor(ByteBuffer.wrap(bytes)), version);
                parsed.buildCluster();
                return parsed;
            });
            assertTrue(damaged || response != null, what + ": only its tagged fields are strange, and they make it unreadable");
            if (response == null)
                continue;
            read++;
            for (PartitionInfo partition : response.buildCluster().partitionsForTopic("t"))
                partition.isReady();
        }
        assertTrue(read > SEEDS / 2 && read < SEEDS, read + " of " + SEEDS + " could be read: that tries one case only");
    }

    @Test
    void aFieldOfAnotherLengthOrValueChangesNothing() {
        Node[] nodes = {new Node(1, "h", 1, "a"), new Node(2, "h", 1, "b")};
        for (int replicas : NUMBERS)
            for (int racks : NUMBERS) {
                MinInSync minimums = MinInSync.of(replicas, racks);
                assertEquals(replicas < 1 || racks <= 2, minimums.isMetBy(nodes, nodes), minimums.toString());
                minimums.isOutOfReach(nodes);
            }
    }

    /** The result of reading, or null if that fails; neither may take more memory than such a message is worth. */
    private static <T> T frugally(String what, Supplier<T> read) {
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
        T result = null;
        try {
            result = read.get();
        } catch (RuntimeException e) {
            // Refused: for a broker the end of the connection, for a client a response that it cannot use
        }
        long taken = threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - before;
        assertTrue(taken < MOST_BYTES, what + " took " + taken + " bytes");
        return result;
    }

    /** A section of tagged fields, at times a sound one: their number, and for each its tag, its length and its bytes. */
    private static byte[] section(Random random) {
        ByteBuffer section = ByteBuffer.allocate(4_096);
        boolean sound = random.nextInt(3) == 0;
        int fields = random.nextInt(4);
        ByteUtils.writeUnsignedVarint(sound ? fields : pick(random, NUMBERS), section);
        for (int i = 0; i < fields; i++) {
            byte[] content = content(random);
            ByteUtils.writeUnsignedVarint(sound ? KnownErrors.TAG + i : pick(random, TAGS), section);
            ByteUtils.writeUnsignedVarint(sound || random.nextBoolean() ? content.length : pick(random, NUMBERS), section);
            section.put(content);
        }
        if (!sound && random.nextBoolean()) {
            byte[] rest = new byte[random.nextInt(64)];
            random.nextBytes(rest);
            section.put(rest);
        }
        return bytes(section.flip());
    }

    private static byte[] content(Random random) {
        byte[] content = new byte[random.nextInt(5) == 0 ? random.nextInt(600) : random.nextInt(9)];
        random.nextBytes(content);
        return content;
    }

    private static int pick(Random random, int[] from) {
        return from[random.nextInt(from.length)];
    }

    private static byte[] bytes(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }
}
