// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.image.ConfigurationsImage;
import org.apache.kafka.image.FeaturesImage;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;

import io.rackspan.common.Degrade;
import io.rackspan.common.RackspanVersion;

import java.util.HashMap;
import java.util.Map;

/**
 * What the metadata log says of racks: the level of rackspan.version and min.insync.racks of each topic. Leaders go by this and by no
 * setting of their own, as the controller does: a rule that one of them knows and the other does not loses acknowledged records.
 * Immutable, and replaced only when features or configurations change.
 */
public final class RackRules {

    /** The rules of a cluster at level 0: none. */
    public static final RackRules NONE = new RackRules((short) 0, null, 1, Map.of(), Map.of());

    private static final ConfigResource CLUSTER_DEFAULT = new ConfigResource(ConfigResource.Type.BROKER, "");

    private final short level;
    private final ConfigurationsImage configs;
    private final int clusterDefault;
    private final Map<String, Integer> byTopic;
    private final Map<String, Degrade> degrades;
    private final boolean quorumScope;
    private final Object identity = new Object();

    private RackRules(short level, ConfigurationsImage configs, int clusterDefault, Map<String, Integer> byTopic, Map<String, Degrade> degrades) {
        this.level = level;
        this.configs = configs;
        this.clusterDefault = clusterDefault;
        this.byTopic = byTopic;
        this.degrades = degrades;
        this.quorumScope = LevelSettings.needsLevel(LevelSettings.SCOPE, clusterDefault(LevelSettings.SCOPE, null));
    }

    /** These rules if the level and the configurations are still the same, else new ones. */
    public RackRules updated(FeaturesImage features, ConfigurationsImage newConfigs) {
        short newLevel = RackspanVersion.levelIn(features.finalizedVersions());
        if (newLevel == level && newConfigs == configs)
            return this;
        if (newLevel == 0)
            return NONE;
        Map<String, Integer> topics = new HashMap<>();
        Map<String, Degrade> lowered = new HashMap<>();
        newConfigs.resourceData().forEach((resource, config) -> {
            String value = config.data().get(LevelSettings.MIN_RACKS);
            if (resource.type() == ConfigResource.Type.TOPIC && value != null)
                topics.put(resource.name(), number(value));
            Degrade degrade = Degrade.of(config.data().get(Degrade.NAME));
            if (resource.type() == ConfigResource.Type.TOPIC && degrade != null)
                lowered.put(resource.name(), degrade);
        });
        return new RackRules(newLevel, newConfigs, number(newConfigs.configMapForResource(CLUSTER_DEFAULT).get(LevelSettings.MIN_RACKS)), topics, lowered);
    }

    private static int number(String value) {
        return value == null ? 1 : Integer.parseInt(value.trim());
    }

    /** The finalized level of rackspan.version. */
    public short level() {
        return level;
    }

    /** The cluster default of min.insync.racks that is in force. */
    public int minRacks() {
        return clusterDefault;
    }

    /** The cluster default of a setting; the other value where there is none, and at level 0. */
    public String clusterDefault(String name, String otherwise) {
        return configs == null ? otherwise : configs.configMapForResource(CLUSTER_DEFAULT).getOrDefault(name, otherwise);
    }

    /** True if acks=all of clients waits for min.insync.replicas only, where a topic does not say. */
    public boolean isQuorumScopeByDefault() {
        return quorumScope;
    }

    /** The min.insync.racks of a topic that is in force; 1 at level 0. */
    public int minRacks(String topic) {
        return byTopic.isEmpty() ? clusterDefault : byTopic.getOrDefault(topic, clusterDefault);
    }

    /** What lowers the min.insync.racks of this topic for a time; null if nothing does. */
    public Degrade degrade(String topic) {
        return degrades.isEmpty() ? null : degrades.get(topic);
    }

    /** The racks that a topic with this degrade requires without it. */
    public int promised(Degrade degrade) {
        return degrade.from().isEmpty() ? clusterDefault : Integer.parseInt(degrade.from());
    }

    /** The min.insync.racks of a topic that is in force; 1 for null, which a metadata cache that is no real one has. */
    public static int minRacks(RackRules rules, String topic) {
        return rules == null ? 1 : rules.minRacks(topic);
    }

    /** The same for one who knows the level and these settings of the topic and the cluster default. */
    public static int minRacks(short level, Map<String, String> topicConfig, Map<String, String> clusterDefaults) {
        return level == 0 ? 1 : number(topicConfig.getOrDefault(LevelSettings.MIN_RACKS, clusterDefaults.get(LevelSettings.MIN_RACKS)));
    }

    /**
     * True if this change of the metadata lowers the level to 0. A controller that does not support a level ends when it replays it, so
     * that nodes need a snapshot from then on, in place of the log that has it.
     */
    public static boolean areGivenUp(MetadataDelta delta, MetadataImage image) {
        return delta.featuresDelta() != null && delta.featuresDelta().changes().containsKey(RackspanVersion.FEATURE_NAME) &&
            RackspanVersion.levelIn(image.features().finalizedVersions()) == 0;
    }

    /** An object of these rules alone, to know them again by without keeping the configurations that they hold; null for null. */
    public static Object identity(RackRules rules) {
        return rules == null ? null : rules.identity;
    }

    /** True if nothing is in force, also for null, which a metadata cache that is no real one has. */
    public static boolean isOff(RackRules rules) {
        return rules == null || rules.level == 0;
    }
}
