// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Random;

/** The value of a record: magic, due time (epoch ns), sequence number, producer name, then fixed noise. */
record Payload(long dueEpochNs, long seq, String producer) {

    private static final int MAGIC = 0x52534C31;
    private static final int FIXED = Integer.BYTES + Long.BYTES + Long.BYTES + Byte.BYTES;

    static int minimumSize(String producer) {
        return FIXED + producer.getBytes(StandardCharsets.UTF_8).length;
    }

    /** A value with everything but due time and sequence filled in; the noise keeps compression from cheating. */
    static byte[] template(String producer, int size) {
        byte[] bytes = new byte[size];
        new Random(producer.hashCode()).nextBytes(bytes);
        byte[] name = producer.getBytes(StandardCharsets.UTF_8);
        ByteBuffer.wrap(bytes).putInt(0, MAGIC).put(FIXED - 1, (byte) name.length).put(FIXED, name);
        return bytes;
    }

    static byte[] fill(byte[] template, long dueEpochNs, long seq) {
        byte[] value = template.clone();
        ByteBuffer.wrap(value).putLong(Integer.BYTES, dueEpochNs).putLong(Integer.BYTES + Long.BYTES, seq);
        return value;
    }

    /** The payload, or null when the value was written by something else. */
    static Payload parse(byte[] value) {
        if (value == null) {
            return null;
        }
        try {
            ByteBuffer in = ByteBuffer.wrap(value);
            if (in.getInt() != MAGIC) {
                return null;
            }
            long due = in.getLong();
            long seq = in.getLong();
            byte[] name = new byte[in.get()];
            in.get(name);
            return new Payload(due, seq, new String(name, StandardCharsets.UTF_8));
        } catch (BufferUnderflowException | NegativeArraySizeException e) {
            return null;
        }
    }
}
