// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

import java.util.Optional;

/**
 * A leader's proposal of an ISR that the controller refuses since a replica is ineligible. The leader then counts without that replica. An
 * earlier copy of the same proposal may still be under way, over a connection that broke, and must not be accepted when the replica
 * is eligible again: acknowledged records would be lost.
 */
public final class RefusedProposal {

    private RefusedProposal() { }

    /**
     * The record that moves the partition epoch, which earlier copies of a refused proposal do not have, and changes nothing else. None at
     * level 0 of rackspan.version.
     */
    public static Optional<ApiMessageAndVersion> newPartitionEpoch(short level, Uuid topic, int partition, MetadataVersion version) {
        return level == 0 ? Optional.empty() : Optional.of(new ApiMessageAndVersion(
            new PartitionChangeRecord().setTopicId(topic).setPartitionId(partition), version.partitionChangeRecordVersion()));
    }
}
