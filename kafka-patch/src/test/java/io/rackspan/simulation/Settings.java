// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.controller.SimulatedController;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.storage.internals.log.LogConfig;

import io.rackspan.common.RackspanVersion;

import java.util.HashMap;
import java.util.Map;

/** The minimums of the topic as some metadata has them. */
record Settings(int minReplicas, int minRacks) {

    static final ConfigResource TOPIC = new ConfigResource(ConfigResource.Type.TOPIC, SimulatedController.TOPIC);
    private static final ConfigResource CLUSTER_DEFAULT = new ConfigResource(ConfigResource.Type.BROKER, "");
    private static final Map<Settings, LogConfig> CONFIGS = new HashMap<>();

    /** What is in force: at level 0 one rack, else the topic's value, else the cluster default. */
    static Settings of(MetadataImage image) {
        Map<String, String> values = image.configs().configMapForResource(TOPIC);
        int replicas = Integer.parseInt(values.getOrDefault(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "1"));
        if (level(image) == 0)
            return new Settings(replicas, 1);
        String own = values.get(TopicConfig.MIN_IN_SYNC_RACKS_CONFIG);
        return new Settings(replicas, own == null ? clusterDefault(image) : Integer.parseInt(own));
    }

    /** The level of rackspan.version. */
    static int level(MetadataImage image) {
        return image.features().finalizedVersions().getOrDefault(RackspanVersion.FEATURE_NAME, (short) 0);
    }

    /** The cluster default of min.insync.racks. */
    static int clusterDefault(MetadataImage image) {
        return Integer.parseInt(image.configs().configMapForResource(CLUSTER_DEFAULT).getOrDefault(TopicConfig.MIN_IN_SYNC_RACKS_CONFIG, "1"));
    }

    /** Settings of a topic: a requirement of one rack is omitted. */
    Map<String, String> asConfig() {
        return minRacks == 1 ? Map.of(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "" + minReplicas)
            : Map.of(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "" + minReplicas, TopicConfig.MIN_IN_SYNC_RACKS_CONFIG, "" + minRacks);
    }

    /** The configuration of a log; made once, since that takes longer than a history may. */
    LogConfig logConfig() {
        return CONFIGS.computeIfAbsent(this, settings -> new LogConfig(settings.asConfig()));
    }
}
