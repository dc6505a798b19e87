// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.protocol.Message;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;

/**
 * The offset ranges of one partition that may have been acknowledged in fewer racks than promised, while min.insync.racks was lowered for a
 * time. Part of the partition's metadata: it is there before the first such acknowledgement, and outlives leaders and controllers. Immutable.
 */
public final class Ledger {

    /** The ledger of a partition that has none. */
    public static final Ledger EMPTY = new Ledger(List.of());

    /** The ranges that are kept. Beyond that the two oldest become one, with what is between them. */
    public static final int MOST = 8;

    /** The tag of the field that messages and metadata records have it in; those of Apache Kafka are small numbers. */
    static final int TAG = 10_000;

    private static final byte VERSION = 0;

    private final List<Range> ranges;

    private Ledger(List<Range> ranges) {
        this.ranges = ranges;
    }

    /** Offsets from `from` to before `to`. */
    public static final class Range {

        /** The end of a range that is still open. */
        public static final long OPEN = -1;

        private final long from;
        private final long to;
        private final int promised;
        private final long beganMs;
        private final long endedMs;
        private final boolean reached;
        private final int joined;
        private final String degrade;

        private Range(long from, long to, int promised, long beganMs, long endedMs, boolean reached, int joined, String degrade) {
            this.from = from;
            this.to = to;
            this.promised = promised;
            this.beganMs = beganMs;
            this.endedMs = endedMs;
            this.reached = reached;
            this.joined = joined;
            this.degrade = degrade;
        }

        public long from() {
            return from;
        }

        /** The offset after the last one, or {@link #OPEN}. */
        public long to() {
            return to;
        }

        public boolean isOpen() {
            return to == OPEN;
        }

        /** The racks that records were promised to be in. */
        public int promised() {
            return promised;
        }

        /** When the first leader began it, by its clock. */
        public long beganMs() {
            return beganMs;
        }

        /** When a leader ended it, by its clock; 0 while it is open. */
        public long endedMs() {
            return endedMs;
        }

        /** True if in-sync replicas in as many racks as promised have had all its records since. */
        public boolean isReached() {
            return reached;
        }

        /** How many ranges became this one. */
        public int joined() {
            return joined;
        }

        /** The value of min.insync.racks.degrade that was in force: who, why, and since when. */
        public String degrade() {
            return degrade;
        }

        private Range ended(LedgerNote note) {
            return new Range(from, note.closeAt(), promised, beganMs, note.atMs(), false, joined, degrade);
        }

        private Range noted(LedgerNote note) {
            boolean now = !isOpen() && to <= note.highWatermark() && promised <= note.racks();
            return reached || !now ? this : new Range(from, to, promised, beganMs, endedMs, true, joined, degrade);
        }

        private Range with(Range next) {
            return new Range(Math.min(from, next.from), next.isOpen() ? OPEN : Math.max(to, next.to), Math.max(promised, next.promised), beganMs, next.endedMs,
                reached && next.reached, joined + next.joined, next.degrade);
        }

        @Override
        public boolean equals(Object other) {
            if (!(other instanceof Range))
                return false;
            Range that = (Range) other;
            return from == that.from && to == that.to && promised == that.promised && beganMs == that.beganMs && endedMs == that.endedMs &&
                reached == that.reached && joined == that.joined && degrade.equals(that.degrade);
        }

        @Override
        public int hashCode() {
            return Objects.hash(from, to, promised, beganMs, endedMs, reached, joined, degrade);
        }

        @Override
        public String toString() {
            return from + "-" + (isOpen() ? "" : to) + (reached ? " reached" : "") + " " + promised + " rack(s)";
        }
    }

    public List<Range> ranges() {
        return ranges;
    }

    /** The open range; null if there is none. */
    public Range open() {
        Range last = ranges.isEmpty() ? null : ranges.get(ranges.size() - 1);
        return last != null && last.isOpen() ? last : null;
    }

    /** The ledger after what a leader notes. A range in which nothing was acknowledged is not kept. */
    public Ledger with(LedgerNote note) {
        List<Range> after = new ArrayList<>(ranges);
        Range open = open();
        if (note.closes() && open != null) {
            after.remove(after.size() - 1);
            if (note.closeAt() > open.from)
                after.add(open.ended(note));
        }
        if (note.opens() && (open == null || note.closes()))
            after.add(new Range(note.openAt(), Range.OPEN, note.promised(), note.atMs(), 0, false, 1, note.degrade()));
        while (after.size() > MOST)
            after.set(0, after.get(0).with(after.remove(1)));
        after.replaceAll(range -> range.noted(note));
        return new Ledger(Collections.unmodifiableList(after));
    }

    /** The ledger in the field that a message has for it; `otherwise` if it has none, or a newer form of it. */
    public static Ledger in(Message message, Ledger otherwise) {
        byte[] field = Tags.find(message, TAG);
        return field == null ? otherwise : decode(field, otherwise);
    }

    /** Gives a message the field, unless this is empty; returns the message. */
    public <M extends Message> M into(M message) {
        return ranges.isEmpty() ? message : intoChange(message);
    }

    /** Gives a message the field, also if this is empty: it replaces one that is not. */
    public <M extends Message> M intoChange(M message) {
        Tags.put(message, TAG, encode());
        return message;
    }

    private byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeByte(VERSION);
            out.writeByte(ranges.size());
            for (Range range : ranges) {
                out.writeLong(range.from);
                out.writeLong(range.to);
                out.writeInt(range.promised);
                out.writeLong(range.beganMs);
                out.writeLong(range.endedMs);
                out.writeBoolean(range.reached);
                out.writeInt(range.joined);
                out.writeUTF(range.degrade);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    private static Ledger decode(byte[] bytes, Ledger otherwise) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            if (in.readByte() != VERSION)
                return otherwise;
            Range[] found = new Range[in.readUnsignedByte()];
            for (int i = 0; i < found.length; i++)
                found[i] = new Range(in.readLong(), in.readLong(), in.readInt(), in.readLong(), in.readLong(), in.readBoolean(), in.readInt(), in.readUTF());
            return found.length == 0 ? EMPTY : new Ledger(List.of(found));
        } catch (IOException e) {
            return otherwise;
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Ledger && ranges.equals(((Ledger) other).ranges);
    }

    @Override
    public int hashCode() {
        return ranges.hashCode();
    }

    @Override
    public String toString() {
        return ranges.toString();
    }
}
