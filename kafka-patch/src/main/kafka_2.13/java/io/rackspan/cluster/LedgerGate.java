// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.metadata.MetadataCache;
import org.apache.kafka.server.partition.PartitionState;
import org.apache.kafka.storage.internals.log.UnifiedLog;

import io.rackspan.common.Degrade;
import io.rackspan.metadata.RackRules;
import io.rackspan.protocol.Ledger;
import io.rackspan.protocol.LedgerNote;

import java.util.Collection;

/**
 * The {@link Ledger} of one partition as its leader goes by it: while min.insync.racks is lowered for a time, nothing is acknowledged in
 * fewer racks than promised before the metadata says from which offset on that may be so.
 *
 * <p>A range begins at the high watermark, as what was appended and refused may be acknowledged now, and ends where the high watermark is
 * once the ISR that is proposed spans the racks: what it passes later, the joining replica has too.
 */
public final class LedgerGate {

    private static final int NEVER = Integer.MIN_VALUE;

    private final String topic;
    private final MetadataCache metadata;
    private final Leadership partition;
    private final RackGates racks;

    /** What the metadata had at a partition epoch. */
    private record Registered(Ledger ledger, int epoch) { }

    private volatile Registered registered = new Registered(Ledger.EMPTY, NEVER);

    /** The partition epoch of the last proposal to end a range: whether it is open is not known until a later one is registered. */
    private volatile int endProposed = NEVER;

    public LedgerGate(String topic, MetadataCache metadata, Leadership partition, RackGates racks) {
        this.topic = topic;
        this.metadata = metadata;
        this.partition = partition;
        this.racks = racks;
    }

    /** Takes over what the metadata has at a partition epoch. Call it with the partition's write lock. */
    public void registered(Ledger ledger, int epoch) {
        registered = new Registered(ledger, epoch);
    }

    private Degrade degrade() {
        RackRules rules = metadata.rackRules();
        return rules == null ? null : rules.degrade(topic);
    }

    /** True if these replicas are in fewer racks than were promised before a degrade. */
    private boolean isBelow(Degrade degrade, Collection<Integer> replicas) {
        return degrade != null && metadata.brokerRacks().span(replicas) < promised(degrade);
    }

    private int promised(Degrade degrade) {
        return racks.required(metadata.rackRules().promised(degrade));
    }

    private boolean isOpen() {
        Registered now = registered;
        return now.ledger.open() != null && endProposed < now.epoch;
    }

    /** True if the high watermark may not move, as acknowledgements below the promise are not yet noted. */
    public boolean holds() {
        Degrade degrade = degrade();
        return degrade != null && !isOpen() && isBelow(degrade, partition.state().isr());
    }

    /**
     * The racks that must hold a record before acks=min.insync.replicas is acknowledged. A degrade lowers that only while the in-sync
     * replicas, with those that are about to join, are in fewer racks than promised.
     */
    public int quorumRacks(PartitionState state) {
        Degrade degrade = degrade();
        return degrade == null || isBelow(degrade, state.maximalIsr()) ? racks.minRacks() : promised(degrade);
    }

    /** True if the controller has to note something. While a proposal is on its way to the metadata of this broker that is not known. */
    public boolean isNoteDue(int partitionEpoch) {
        return registered.epoch >= partitionEpoch && note(degrade(), partition.state().isr(), 0, 0) != null;
    }

    /**
     * What the controller is to note together with an ISR that is proposed; null if nothing is. Call it with the partition's write lock,
     * and propose what it returns.
     *
     * @param answered what was acknowledged above the high watermark is below this: by acks=min.insync.replicas, or by the leader before
     */
    public LedgerNote note(Collection<Integer> proposed, int partitionEpoch, long answered, long nowMs) {
        LedgerNote note = note(degrade(), proposed, answered, nowMs);
        if (note != null && note.closes())
            endProposed = partitionEpoch;
        return note;
    }

    private LedgerNote note(Degrade degrade, Collection<Integer> proposed, long answered, long nowMs) {
        Ledger known = registered.ledger;
        boolean below = isBelow(degrade, proposed);
        if (!below && known.ranges().isEmpty())
            return null;
        UnifiedLog log = partition.log();
        if (log == null)
            return null;
        boolean continues = below && isOpen() && known.open().degrade().equals(degrade.toString());
        long highWatermark = log.highWatermark();
        LedgerNote note = LedgerNote.of(metadata.brokerRacks().span(proposed), highWatermark, nowMs);
        if (known.open() != null && !continues)
            note = note.ending(Math.max(highWatermark, answered));
        if (below && !continues)
            note = note.beginning(highWatermark, promised(degrade), degrade.toString());
        return known.with(note).equals(known) ? null : note;
    }
}
