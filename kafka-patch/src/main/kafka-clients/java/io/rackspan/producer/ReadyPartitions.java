// SPDX-License-Identifier: Apache-2.0
package io.rackspan.producer;

import org.apache.kafka.clients.Metadata;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;

import io.rackspan.protocol.MinInSync;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Partitions that a producer with acks=all or acks=min.insync.replicas should prefer (KIP-637): those with enough replicas, in
 * enough racks, in sync. Of a broker that does not report what is enough, every partition with a leader is equally good.
 */
public final class ReadyPartitions {

    private ReadyPartitions() {
    }

    /** The ready ones among the available partitions, by topic. Where none is excluded, the argument's own object is returned. */
    public static Map<String, List<PartitionInfo>> among(Map<String, List<PartitionInfo>> available) {
        Map<String, List<PartitionInfo>> changed = new HashMap<>();
        available.forEach((topic, partitions) -> {
            for (PartitionInfo partition : partitions) {
                if (!partition.isReady()) {
                    changed.put(topic, partitions.stream().filter(PartitionInfo::isReady).collect(Collectors.toUnmodifiableList()));
                    return;
                }
            }
        });
        if (changed.isEmpty())
            return available;
        Map<String, List<PartitionInfo>> ready = new HashMap<>(available);
        ready.putAll(changed);
        return Map.copyOf(ready);
    }

    /** The partitions to choose from for a record that may go to any: the ready ones, else all that are available. */
    public static List<PartitionInfo> candidates(Cluster cluster, String topic, boolean requireMinInSyncAcks) {
        List<PartitionInfo> ready = requireMinInSyncAcks ? cluster.readyPartitionsForTopic(topic) : List.of();
        return ready.isEmpty() ? cluster.availablePartitionsForTopic(topic) : ready;
    }

    /** True if some partitions of the topic are ready and others that are available are not. */
    public static boolean isChoice(Cluster cluster, String topic) {
        List<PartitionInfo> ready = cluster.readyPartitionsForTopic(topic);
        return ready != cluster.availablePartitionsForTopic(topic) && !ready.isEmpty();
    }

    /** True if the partition is not ready while another one is. */
    public static boolean isToBeAvoided(Cluster cluster, String topic, int partition) {
        if (!isChoice(cluster, topic))
            return false;
        PartitionInfo info = cluster.partition(new TopicPartition(topic, partition));
        return info != null && !info.isReady();
    }

    /** True if a refusal says that a partition is not ready, and metadata from a broker that reports minimums says that it is. */
    public static boolean isNews(Errors error, Metadata metadata, TopicPartition partition) {
        if (error != Errors.NOT_ENOUGH_REPLICAS && error != Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
            return false;
        PartitionInfo info = metadata.fetch().partition(partition);
        return info != null && isReported(info) && info.isReady();
    }

    /** True if a refusal for lack of racks says no more than metadata does: a request for it, once a retry, would bring nothing. */
    public static boolean isKnown(Errors error, Metadata metadata, TopicPartition partition) {
        if (error != Errors.NOT_ENOUGH_RACKS && error != Errors.NOT_ENOUGH_RACKS_AFTER_APPEND)
            return false;
        PartitionInfo info = metadata.fetch().partition(partition);
        return info != null && info.leader() != null && isReported(info) && !info.isReady();
    }

    /** True if a partition that has a leader is not ready, but can become so without a change of its configuration or assignment. */
    public static boolean isRecoveryPossible(Cluster cluster) {
        for (String topic : cluster.topics()) {
            List<PartitionInfo> available = cluster.availablePartitionsForTopic(topic);
            if (cluster.readyPartitionsForTopic(topic) == available)
                continue;
            for (PartitionInfo partition : available)
                if (!partition.isReady() && !minimums(partition).isOutOfReach(partition.replicas()))
                    return true;
        }
        return false;
    }

    private static MinInSync minimums(PartitionInfo partition) {
        return MinInSync.of(partition.minInSyncReplicas(), partition.minInSyncRacks());
    }

    private static boolean isReported(PartitionInfo partition) {
        return minimums(partition).isKnown();
    }
}
