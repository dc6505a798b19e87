// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.protocol.Message;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;

/**
 * The electable set of a partition (level 2 of rackspan.version): every acknowledged record is in the log of every member, and nobody else may
 * lead. Empty while nothing that was acknowledged with acks=min.insync.replicas is above the high watermark. Immutable.
 */
public final class Electable {

    /** The set of a partition that has none: leaders are elected from the ISR and the ELR. */
    public static final Electable NONE = new Electable(List.of(), List.of());

    /** The tag of the field that messages and metadata records have it in, behind the one of the {@link Ledger}. */
    static final int TAG = Ledger.TAG + 1;

    private static final byte VERSION = 0;

    private final List<Integer> members;
    private final List<Integer> unclean;

    private Electable(List<Integer> members, List<Integer> unclean) {
        this.members = members;
        this.unclean = unclean;
    }

    /** A set of which every member may lead. */
    public static Electable of(Collection<Integer> members) {
        return members.isEmpty() ? NONE : new Electable(sorted(members), List.of());
    }

    private static List<Integer> sorted(Collection<Integer> ids) {
        return Collections.unmodifiableList(new ArrayList<>(new TreeSet<>(ids)));
    }

    public boolean isEmpty() {
        return members.isEmpty();
    }

    /** The ids of the members, in ascending order. */
    public List<Integer> members() {
        return members;
    }

    /** The members that may lack records since they came back from an unclean shutdown or were unregistered. */
    public List<Integer> unclean() {
        return unclean;
    }

    /** The members that have every acknowledged record, in ascending order. */
    public List<Integer> complete() {
        List<Integer> found = new ArrayList<>(members);
        found.removeAll(unclean);
        return found;
    }

    /** True for a member that has every acknowledged record. */
    public boolean mayLead(int broker) {
        return members.contains(broker) && !unclean.contains(broker);
    }

    /** True if no member has every acknowledged record any more. False for a set without members. */
    public boolean isLost() {
        return !members.isEmpty() && unclean.size() == members.size();
    }

    /** The set in which this broker, if it is a member, may lack records. */
    public Electable withUnclean(int broker) {
        if (!mayLead(broker))
            return this;
        List<Integer> marked = new ArrayList<>(unclean);
        marked.add(broker);
        return new Electable(members, sorted(marked));
    }

    /** The set without members that are not among these replicas. */
    public Electable within(Collection<Integer> replicas) {
        if (replicas.containsAll(members))
            return this;
        List<Integer> kept = new ArrayList<>(members);
        kept.retainAll(replicas);
        List<Integer> marked = new ArrayList<>(unclean);
        marked.retainAll(replicas);
        return kept.isEmpty() ? NONE : new Electable(sorted(kept), sorted(marked));
    }

    /** The set in the field that a message has for it; `otherwise` if it has none, or a newer form of it. */
    public static Electable in(Message message, Electable otherwise) {
        byte[] field = Tags.find(message, TAG);
        return field == null ? otherwise : decode(ByteBuffer.wrap(field), otherwise);
    }

    /** Gives a message the field, unless this is empty; returns the message. */
    public <M extends Message> M into(M message) {
        return isEmpty() ? message : intoChange(message);
    }

    /** Gives a message the field, also if this is empty: it replaces one that is not. */
    public <M extends Message> M intoChange(M message) {
        Tags.put(message, TAG, encode());
        return message;
    }

    /** Gives a proposal the field for the set that it proposes; null proposes none. */
    public static void into(Electable proposed, Message message) {
        if (proposed != null)
            proposed.intoChange(message);
    }

    private byte[] encode() {
        ByteBuffer bytes = ByteBuffer.allocate(1 + 2 * Short.BYTES + (members.size() + unclean.size()) * Integer.BYTES);
        bytes.put(VERSION);
        put(bytes, members);
        put(bytes, unclean);
        return bytes.array();
    }

    private static void put(ByteBuffer bytes, List<Integer> ids) {
        bytes.putShort((short) ids.size());
        ids.forEach(bytes::putInt);
    }

    private static Electable decode(ByteBuffer bytes, Electable otherwise) {
        try {
            if (bytes.get() != VERSION)
                return otherwise;
            List<Integer> members = get(bytes);
            List<Integer> unclean = get(bytes);
            unclean.retainAll(members);
            return members.isEmpty() ? NONE : new Electable(sorted(members), sorted(unclean));
        } catch (BufferUnderflowException e) {
            return otherwise;
        }
    }

    private static List<Integer> get(ByteBuffer bytes) {
        List<Integer> ids = new ArrayList<>();
        int count = bytes.getShort();
        if (count < 0)
            throw new BufferUnderflowException();
        for (int left = count; left > 0; left--)
            ids.add(bytes.getInt());
        return ids;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Electable && members.equals(((Electable) other).members) && unclean.equals(((Electable) other).unclean);
    }

    @Override
    public int hashCode() {
        return 31 * members.hashCode() + unclean.hashCode();
    }

    @Override
    public String toString() {
        return members + (unclean.isEmpty() ? "" : " with unclean " + unclean);
    }
}
