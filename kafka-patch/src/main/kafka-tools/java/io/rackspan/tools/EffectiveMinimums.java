// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools;

import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.TopicConfig;

import io.rackspan.metadata.InternalTopics;
import io.rackspan.metadata.LevelSettings;
import io.rackspan.protocol.Racks;

/**
 * Columns that kafka-topics.sh adds to a partition that has fewer replicas, or racks, than its topic requires to be in sync (KIP-579): the
 * value that is configured, and the one that counts for the high watermark and for elections.
 */
public final class EffectiveMinimums {

    private EffectiveMinimums() {
    }

    /** Columns for the end of the partition's line; empty where the configured values can be met, and where that is not known. */
    public static String describe(String topic, Config config, TopicPartitionInfo info) {
        int replicas = info.replicas().size();
        boolean racksKnown = info.replicas().stream().allMatch(Racks::isNamed);
        int racks = racksKnown ? Racks.span(info.replicas(), Racks::of) : Integer.MAX_VALUE;
        int minReplicas = value(config, TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG);
        boolean fewReplicasRefused = minReplicas > replicas && !isClamped(config) && ConfigAtLevel.isInForce(config);
        // Racks are required from level 1 on only
        String refused = InternalTopics.contains(topic) ? "" : ", acks=all is refused";
        return column("MinInSyncReplicas", minReplicas, replicas, fewReplicasRefused ? refused : "") +
            column("MinInSyncRacks", value(config, TopicConfig.MIN_IN_SYNC_RACKS_CONFIG), racks, refused);
    }

    private static boolean isClamped(Config config) {
        ConfigEntry entry = config.get(LevelSettings.ACTION);
        boolean counts = entry != null && entry.source() != ConfigEntry.ConfigSource.STATIC_BROKER_CONFIG;
        return counts && LevelSettings.isClamped(entry.value(), null);
    }

    private static String column(String name, int configured, int most, String more) {
        return configured <= most ? "" : "\t" + name + ": " + configured + " (effective " + most + more + ")";
    }

    /** A stock broker does not know all settings; an operator may lack the right to see any. */
    private static int value(Config config, String name) {
        ConfigEntry entry = config == null ? null : config.get(name);
        return entry == null || entry.value() == null ? 1 : Integer.parseInt(entry.value().trim());
    }
}
