// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.protocol.Message;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * What a leader asks the controller to note in the {@link Ledger} of a partition, together with the ISR that it proposes: a range ends, or
 * begins, or both, or records of ranges that ended are in enough racks now.
 */
public final class LedgerNote {

    private static final long NONE = -1;

    private final int racks;
    private final long highWatermark;
    private final long atMs;
    private final long closeAt;
    private final long openAt;
    private final int promised;
    private final String degrade;

    private LedgerNote(int racks, long highWatermark, long atMs, long closeAt, long openAt, int promised, String degrade) {
        this.racks = racks;
        this.highWatermark = highWatermark;
        this.atMs = atMs;
        this.closeAt = closeAt;
        this.openAt = openAt;
        this.promised = promised;
        this.degrade = degrade;
    }

    /** What is below this high watermark is in as many racks as the proposed ISR. */
    public static LedgerNote of(int racks, long highWatermark, long nowMs) {
        return new LedgerNote(racks, highWatermark, nowMs, NONE, NONE, 0, "");
    }

    /** This, and the open range ends before an offset. */
    public LedgerNote ending(long offset) {
        return new LedgerNote(racks, highWatermark, atMs, offset, openAt, promised, degrade);
    }

    /** This, and a range begins at an offset. By that value of min.insync.racks.degrade, records may be in fewer racks than promised. */
    public LedgerNote beginning(long offset, int racksPromised, String by) {
        return new LedgerNote(racks, highWatermark, atMs, closeAt, offset, racksPromised, by);
    }

    /** True if a range ends. */
    public boolean closes() {
        return closeAt != NONE;
    }

    boolean opens() {
        return openAt != NONE;
    }

    int racks() {
        return racks;
    }

    long highWatermark() {
        return highWatermark;
    }

    long atMs() {
        return atMs;
    }

    long closeAt() {
        return closeAt;
    }

    long openAt() {
        return openAt;
    }

    int promised() {
        return promised;
    }

    String degrade() {
        return degrade;
    }

    /** Gives a message the field for it; null has none. */
    public static void into(LedgerNote note, Message message) {
        if (note != null)
            Tags.put(message, Ledger.TAG, note.encode());
    }

    /** The note that a message has; null if it has none. */
    public static LedgerNote in(Message message) {
        byte[] field = Tags.find(message, Ledger.TAG);
        return field == null ? null : decode(field);
    }

    private byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(racks);
            out.writeLong(highWatermark);
            out.writeLong(atMs);
            out.writeLong(closeAt);
            out.writeLong(openAt);
            out.writeInt(promised);
            out.writeUTF(degrade);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    private static LedgerNote decode(byte[] bytes) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            return new LedgerNote(in.readInt(), in.readLong(), in.readLong(), in.readLong(), in.readLong(), in.readInt(), in.readUTF());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public String toString() {
        return "LedgerNote(" + racks + " rack(s) below " + highWatermark + (closes() ? "; ends before " + closeAt : "") +
            (opens() ? "; begins at " + openAt + ", " + promised + " rack(s) promised" : "") + ")";
    }
}
