// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools;

import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.TopicConfig;

import io.rackspan.metadata.InternalTopics;
import io.rackspan.protocol.Racks;

/** The racks of a partition as kafka-topics.sh reports them, from the metadata that any broker gives an admin client. */
public final class RackDescription {

    private RackDescription() {
    }

    /** True if racks are required and the in-sync replicas are in fewer, or there is no leader. */
    public static boolean isUnder(String topic, Config config, TopicPartitionInfo info) {
        int minRacks = minRacks(topic, config, info);
        return minRacks > 1 && (info.leader() == null || span(info) < minRacks);
    }

    /** True if racks are required and the in-sync replicas are in exactly that many. */
    public static boolean isAt(String topic, Config config, TopicPartitionInfo info) {
        int minRacks = minRacks(topic, config, info);
        return minRacks > 1 && info.leader() != null && span(info) == minRacks;
    }

    /** The racks without which writes are refused: of an internal topic no more than its replicas are in. */
    private static int minRacks(String topic, Config config, TopicPartitionInfo info) {
        ConfigEntry entry = config.get(TopicConfig.MIN_IN_SYNC_RACKS_CONFIG);
        // A stock broker does not know the setting
        int minRacks = entry == null ? 1 : Integer.parseInt(entry.value().trim());
        return InternalTopics.contains(topic) ? Math.min(minRacks, Racks.span(info.replicas(), Racks::of)) : minRacks;
    }

    private static int span(TopicPartitionInfo info) {
        return Racks.span(info.isr(), Racks::of);
    }
}
