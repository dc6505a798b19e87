// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.Node;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.protocol.types.RawTaggedField;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * min.insync.replicas and min.insync.racks of a topic, as brokers report them to clients in two tagged fields of the topic in a metadata
 * response (KIP-637): 4 bytes each, big endian. Stock clients skip the fields, stock brokers do not send them. Immutable.
 */
public final class MinInSync {

    /** Nothing is known, as from a stock broker. */
    public static final MinInSync UNKNOWN = new MinInSync(-1, -1);

    /** Tagged fields came with this version of MetadataResponse; an older one cannot be written with them. */
    public static final short FIRST_VERSION = 9;

    static final int REPLICAS_TAG = 10000;
    static final int RACKS_TAG = 10001;

    private final int replicas;
    private final int racks;

    private MinInSync(int replicas, int racks) {
        this.replicas = replicas;
        this.racks = racks;
    }

    /** These values; unknown if min.insync.replicas is. */
    public static MinInSync of(int replicas, int racks) {
        return replicas < 1 ? UNKNOWN : new MinInSync(replicas, racks);
    }

    /** min.insync.replicas as configured; -1 if unknown. */
    public int replicas() {
        return replicas;
    }

    /** min.insync.racks; -1 if unknown. */
    public int racks() {
        return racks;
    }

    public boolean isKnown() {
        return replicas > 0;
    }

    /** The values that a broker reported of a topic; a field of another length is ignored. */
    public static MinInSync declaredIn(MetadataResponseTopic topic) {
        int replicas = -1;
        int racks = -1;
        for (RawTaggedField field : topic.unknownTaggedFields()) {
            if (field.size() == Integer.BYTES && field.tag() == REPLICAS_TAG)
                replicas = ByteBuffer.wrap(field.data()).getInt();
            else if (field.size() == Integer.BYTES && field.tag() == RACKS_TAG)
                racks = ByteBuffer.wrap(field.data()).getInt();
        }
        return of(replicas, racks);
    }

    /** The fields, in the order in which they must be written. */
    public List<RawTaggedField> fields() {
        return List.of(field(REPLICAS_TAG, replicas), field(RACKS_TAG, racks));
    }

    private static RawTaggedField field(int tag, int value) {
        return new RawTaggedField(tag, ByteBuffer.allocate(Integer.BYTES).putInt(value).array());
    }

    /**
     * True if so many replicas, in so many racks, are in sync, or if nothing is known. Where the partition has fewer replicas than
     * min.insync.replicas, all of them are enough: no other state is better.
     *
     * @param isr      the replicas in sync; an empty node is a broker that is not there, so its rack is not known
     * @param assigned all replicas
     */
    public boolean isMetBy(Node[] isr, Node[] assigned) {
        if (!isKnown() || isr == null || assigned == null)
            return true;
        return isr.length >= Math.min(replicas, assigned.length) && (racks <= 1 || Racks.span(Arrays.asList(isr), Racks::of) >= racks);
    }

    /** True if the racks of all replicas are known and too few, so that no change of the ISR can help. */
    public boolean isOutOfReach(Node[] assigned) {
        List<Node> all = Arrays.asList(assigned);
        return racks > 1 && Racks.span(all, Racks::of) < racks && all.stream().allMatch(Racks::isNamed);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof MinInSync && ((MinInSync) other).replicas == replicas && ((MinInSync) other).racks == racks;
    }

    @Override
    public int hashCode() {
        return Objects.hash(replicas, racks);
    }

    @Override
    public String toString() {
        return isKnown() ? "MinInSync(replicas=" + replicas + ", racks=" + racks + ")" : "MinInSync(unknown)";
    }
}
