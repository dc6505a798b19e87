// SPDX-License-Identifier: Apache-2.0
package org.apache.kafka.controller;

import org.apache.kafka.common.metadata.ClearElrRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.TopicIdPartition;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;

/**
 * A change of a minimum clears eligible replicas, since the high watermark of a leader that has few in sync may move from then on without
 * them. A partition without a leader has no high watermark that moves: its eligible replicas have everything, and are often the only
 * ones that may lead. The change is made in just such an outage, to let writes continue.
 */
final class LeaderlessElrs {

    private LeaderlessElrs() { }

    /** A change of settings; from level 1 on with what restores the eligible replicas of partitions without a leader. */
    static <T> ControllerResult<T> keptBy(ControllerResult<T> change, ReplicationControlManager partitions, FeatureControlManager features) {
        return features.rackspanLevel() == 0 ? change : keptFromLevel1(change, partitions, features);
    }

    /** The same for a change that raises the level. */
    static <T> ControllerResult<T> keptFromLevel1(ControllerResult<T> change, ReplicationControlManager partitions, FeatureControlManager features) {
        Set<String> cleared = new HashSet<>();
        for (ApiMessageAndVersion record : change.records())
            if (record.message() instanceof ClearElrRecord clear)
                cleared.add(clear.topicName());
        if (cleared.isEmpty())
            return change;
        List<ApiMessageAndVersion> records = new ArrayList<>(change.records());
        Iterator<TopicIdPartition> leaderless = partitions.brokersToIsrs().partitionsWithNoLeader();
        while (leaderless.hasNext() && records.size() < QuorumController.MAX_RECORDS_PER_USER_OP) {
            TopicIdPartition id = leaderless.next();
            PartitionRegistration partition = partitions.getPartition(id.topicId(), id.partitionId());
            if (partition.elr.length > 0 && (cleared.contains("") || cleared.contains(partitions.getTopic(id.topicId()).name())))
                records.add(new ApiMessageAndVersion(new PartitionChangeRecord().setTopicId(id.topicId()).setPartitionId(id.partitionId())
                    .setEligibleLeaderReplicas(Replicas.toList(partition.elr)).setLastKnownElr(Replicas.toList(partition.lastKnownElr)),
                    features.metadataVersionOrThrow().partitionChangeRecordVersion()));
        }
        return ControllerResult.atomicOf(records, change.response());
    }
}
