// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import org.apache.kafka.clients.consumer.ConsumerRecord;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;

/**
 * A file with one fixed-size entry per consumed record.
 *
 * <p>Little endian. Header: magic, record bytes, header bytes, two anchors, topic. Entry: offset, timestamp (ms), read
 * (monotonic ns), sequence (-1: of another producer), due (epoch ns), partition, leader epoch (-1: unknown), producer (32 bytes,
 * zero padded).
 */
final class ReadLog implements AutoCloseable {

    private static final int RECORD = 80;
    private static final int HEADER = 512;
    private static final int TOPIC_AT = 40;

    private final OutputStream out;
    private final ByteBuffer entry = ByteBuffer.allocate(RECORD).order(ByteOrder.LITTLE_ENDIAN);

    ReadLog(Path path, String topic, Clock clock) throws IOException {
        out = new BufferedOutputStream(Files.newOutputStream(path, StandardOpenOption.CREATE_NEW), 1 << 16);
        byte[] bytes = new byte[HEADER];
        ByteBuffer header = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        header.put("RKREADS1".getBytes(StandardCharsets.US_ASCII)).putInt(RECORD).putInt(HEADER);
        header.putLong(clock.anchorEpochNs()).putLong(clock.anchorMonoNs());
        header.put(TOPIC_AT, topic.getBytes(StandardCharsets.UTF_8));
        out.write(bytes);
    }

    void add(ConsumerRecord<byte[], byte[]> record, Payload payload, long readNs) throws IOException {
        byte[] bytes = entry.array();
        Arrays.fill(bytes, (byte) 0);
        entry.clear();
        entry.putLong(record.offset()).putLong(record.timestamp()).putLong(readNs);
        entry.putLong(payload == null ? -1 : payload.seq()).putLong(payload == null ? 0 : payload.dueEpochNs());
        entry.putInt(record.partition()).putInt(record.leaderEpoch().orElse(-1));
        entry.put((payload == null ? "" : payload.producer()).getBytes(StandardCharsets.UTF_8));
        out.write(bytes);
    }

    @Override
    public void close() throws IOException {
        out.close();
    }
}
