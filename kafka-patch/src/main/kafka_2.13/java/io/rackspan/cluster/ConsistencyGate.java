// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.InconsistentReplicaConfigurationException;
import org.apache.kafka.storage.internals.log.LogConfig;

import io.rackspan.metadata.InternalTopics;
import io.rackspan.metadata.LevelSettings;
import io.rackspan.metadata.RackRules;

import java.util.Collection;

/**
 * Refuses writes of clients to a partition that has fewer replicas, or racks, than its topic requires to be in sync (KIP-579). No
 * retry can help, so the error is non-retriable. At level 0 of rackspan.version the base's clamp is in force, whatever is set.
 * Replicas that a reassignment is adding count: they may come to be in sync before it ends.
 */
public final class ConsistencyGate {

    private ConsistencyGate() {
    }

    private static boolean isClamped(LogConfig topic, RackRules rules) {
        String ofTopic = topic.overriddenConfigs.contains(LevelSettings.ACTION) ? topic.inconsistentAction : null;
        return LevelSettings.isClamped(ofTopic, rules.clusterDefault(LevelSettings.ACTION, null));
    }

    /**
     * Checks a write with acks=all or acks=min.insync.replicas before its append; two comparisons in the normal case.
     *
     * @throws InconsistentReplicaConfigurationException if the topic's requirements can never be met
     */
    public static void checkAppend(TopicPartition partition, LogConfig config, RackRules rules, Collection<Integer> assignment, RackSpan rackSpan) {
        if (RackRules.isOff(rules) || InternalTopics.contains(partition.topic()))
            return;
        if (config.minInSyncReplicas > assignment.size() && !isClamped(config, rules))
            throw new InconsistentReplicaConfigurationException("Partition " + partition + " has " + assignment.size() + " replica(s) " +
                assignment + ", but " + TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG + " is " + config.minInSyncReplicas +
                ": no write with acks=all can ever meet that. Reassign the topic to more replicas, lower the setting, or set " +
                TopicConfig.MIN_IN_SYNC_REPLICAS_INCONSISTENT_ACTION_CONFIG + "=clamp.");
        int minRacks = rules.minRacks(partition.topic());
        if (minRacks > 1 && rackSpan.isOutOfReach(minRacks, assignment))
            throw new InconsistentReplicaConfigurationException("Partition " + partition + " has replicas " + assignment + " in " +
                rackSpan.describe(assignment) + ", but " + TopicConfig.MIN_IN_SYNC_RACKS_CONFIG + " is " + minRacks +
                ": no write with acks=all can ever meet that. Reassign the topic to more racks, or lower the setting.");
    }
}
