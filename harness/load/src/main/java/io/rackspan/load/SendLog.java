// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A mapped file with one fixed-size entry per send: it survives a kill of this process. The sequence number is the index.
 *
 * <p>Little endian. Header: magic, record bytes, header bytes, capacity, epoch and monotonic anchor, producer, topic, then a
 * table of result names. Entry: due, sent, done (monotonic ns; done 0 = no answer), offset, partition, result, cause.
 */
final class SendLog implements Recording {

    static final int RECORD = 40;
    static final int HEADER = 16_384;
    /** More do not fit into one mapped file. */
    static final long MAX_RECORDS = (Integer.MAX_VALUE - HEADER) / RECORD;
    private static final byte[] MAGIC = "RKSENDS1".getBytes(StandardCharsets.US_ASCII);
    private static final int PRODUCER_AT = 40;
    private static final int TOPIC_AT = 72;
    private static final int NAMES_AT = 1024;
    private static final int NAME_BYTES = 64;
    private static final int MAX_NAMES = (HEADER - NAMES_AT) / NAME_BYTES;

    private final FileChannel channel;
    private final MappedByteBuffer map;
    private final int capacity;
    private final Map<String, Short> names = new ConcurrentHashMap<>();

    SendLog(Path path, String producer, String topic, Clock clock, long capacity) throws IOException {
        long bytes = HEADER + capacity * RECORD;
        this.capacity = (int) capacity;
        channel = FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.READ,
            StandardOpenOption.WRITE);
        // Writing zeros now means no page fault and no full disk in the middle of a measurement.
        ByteBuffer zeros = ByteBuffer.allocateDirect(1 << 20);
        for (long at = 0; at < bytes; at += zeros.position()) {
            zeros.clear().limit((int) Math.min(zeros.capacity(), bytes - at));
            channel.write(zeros, at);
        }
        map = channel.map(FileChannel.MapMode.READ_WRITE, 0, bytes);
        map.order(ByteOrder.LITTLE_ENDIAN);
        map.load();
        map.putInt(8, RECORD).putInt(12, HEADER).putLong(16, capacity);
        map.putLong(24, clock.anchorEpochNs()).putLong(32, clock.anchorMonoNs());
        map.put(PRODUCER_AT, producer.getBytes(StandardCharsets.UTF_8));
        map.put(TOPIC_AT, topic.getBytes(StandardCharsets.UTF_8));
        names.put("", (short) 0);
        nameIndex("OK");
        VarHandle.releaseFence();
        map.put(0, MAGIC);
    }

    @Override
    public long capacity() {
        return capacity;
    }

    /** Creates the entry, without an answer yet. */
    @Override
    public Answer sent(long seq, long dueMonoNs, long sentMonoNs) {
        int at = at(seq);
        map.putLong(at + 8, sentMonoNs);
        map.putLong(at + 24, -1);
        map.putInt(at + 32, -1);
        VarHandle.releaseFence();
        map.putLong(at, dueMonoNs);
        return new Entry(at);
    }

    private int at(long seq) {
        return HEADER + (int) seq * RECORD;
    }

    private short nameIndex(String name) {
        Short known = names.get(name);
        return known != null ? known : addName(name);
    }

    private synchronized short addName(String name) {
        Short known = names.get(name);
        if (known != null) {
            return known;
        }
        int index = names.size();
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        if (index >= MAX_NAMES || bytes.length > NAME_BYTES) {
            throw new IllegalStateException("no room for result name " + name + " among " + names.size());
        }
        map.put(NAMES_AT + index * NAME_BYTES, bytes);
        names.put(name, (short) index);
        return (short) index;
    }

    /** Cuts the file behind the last record that was tried. */
    @Override
    public void finish(long records) throws IOException {
        map.force();
        channel.truncate(HEADER + records * RECORD);
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }

    private final class Entry implements Answer {

        private final int at;

        Entry(int at) {
            this.at = at;
        }

        @Override
        public boolean known() {
            return map.getLong(at + 16) != 0;
        }

        /** The done time goes last, so that a reader never sees half an answer. */
        @Override
        public void done(long doneMonoNs, int partition, long offset, String result, String cause) {
            map.putLong(at + 24, offset);
            map.putInt(at + 32, partition);
            map.putShort(at + 36, nameIndex(result));
            map.putShort(at + 38, nameIndex(cause));
            VarHandle.releaseFence();
            map.putLong(at + 16, doneMonoNs);
        }
    }
}
