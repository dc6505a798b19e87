// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools;

import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.TopicConfig;

import io.rackspan.protocol.Racks;

/** The racks of a partition as kafka-topics.sh reports them, from the metadata that any broker gives an admin client. */
public final class RackDescription {

    private RackDescription() {
    }

    /** True if racks are required and the in-sync replicas are in fewer, or there is no leader. */
    public static boolean isUnder(Config config, TopicPartitionInfo info) {
        int minRacks = minRacks(config);
        return minRacks > 1 && (info.leader() == null || span(info) < minRacks);
    }

    /** True if racks are required and the in-sync replicas are in exactly that many. */
    public static boolean isAt(Config config, TopicPartitionInfo info) {
        int minRacks = minRacks(config);
        return minRacks > 1 && info.leader() != null && span(info) == minRacks;
    }

    private static int minRacks(Config config) {
        ConfigEntry entry = config.get(TopicConfig.MIN_IN_SYNC_RACKS_CONFIG);
        // A stock broker does not know the setting
        return entry == null ? 1 : Integer.parseInt(entry.value());
    }

    private static int span(TopicPartitionInfo info) {
        return Racks.span(info.isr(), Racks::of);
    }
}
