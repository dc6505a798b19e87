// SPDX-License-Identifier: Apache-2.0
package org.apache.kafka.controller;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.ApiMessageAndVersion;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Partitions as they will be behind records that are not applied yet: a broker that leaves may have had leaders elected by them. Immutable. */
final class PendingPartitions {

    private record Key(Uuid topicId, int partition) { }

    private final Map<Key, List<PartitionChangeRecord>> changes = new HashMap<>();

    PendingPartitions(List<ApiMessageAndVersion> records) {
        for (ApiMessageAndVersion record : records)
            if (record.message() instanceof PartitionChangeRecord change)
                changes.computeIfAbsent(new Key(change.topicId(), change.partitionId()), key -> new ArrayList<>()).add(change);
    }

    PartitionRegistration behind(Uuid topicId, int partition, PartitionRegistration now) {
        PartitionRegistration then = now;
        for (PartitionChangeRecord change : changes.getOrDefault(new Key(topicId, partition), List.of()))
            then = then.merge(change);
        return then;
    }
}
