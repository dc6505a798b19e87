// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AlterPartitionRequestData.PartitionData;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

import io.rackspan.protocol.Ledger;
import io.rackspan.protocol.LedgerNote;

import java.util.Optional;

/** The change of a partition that its leader proposes, with what is to be noted in its {@link Ledger}. */
public final class NotedChange {

    private NotedChange() { }

    /**
     * The record of a proposal that the controller accepts.
     *
     * @param change the record without the note; empty if the ISR is the same, in which case a note makes one that changes nothing else
     */
    public static Optional<ApiMessageAndVersion> of(PartitionData proposal, PartitionRegistration partition, Uuid topic, MetadataVersion version,
                                                    Optional<ApiMessageAndVersion> change) {
        LedgerNote note = LedgerNote.in(proposal);
        Ledger after = note == null ? partition.ledger : partition.ledger.with(note);
        if (after.equals(partition.ledger))
            return change;
        ApiMessageAndVersion record = change.orElseGet(() -> new ApiMessageAndVersion(
            new PartitionChangeRecord().setTopicId(topic).setPartitionId(proposal.partitionIndex()), version.partitionChangeRecordVersion()));
        after.intoChange(record.message());
        return Optional.of(record);
    }
}
