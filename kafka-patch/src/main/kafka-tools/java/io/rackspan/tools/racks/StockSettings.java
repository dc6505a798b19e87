// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.InvalidConfigurationException;

import io.rackspan.prediction.ClusterView;
import io.rackspan.common.RackspanVersion;
import io.rackspan.prediction.ClusterView.Topic;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;

/**
 * All that is in the way of stock nodes: what topics, the cluster and single brokers have set that stock Kafka does not know, the level of
 * rackspan.version, and the electable sets, as long as which it cannot be lowered.
 *
 * @param set       the settings, topics first
 * @param level     the level of rackspan.version
 * @param electable the topics that have electable sets
 */
record StockSettings(List<Own> set, short level, List<String> electable) {

    /** The settings that stock Kafka does not know. */
    static final Set<String> UNKNOWN = Set.of(TopicConfig.MIN_IN_SYNC_RACKS_CONFIG, TopicConfig.MIN_IN_SYNC_RACKS_DEGRADE_CONFIG,
        TopicConfig.MIN_IN_SYNC_RACKS_STRICT_PLACEMENT_CONFIG,
        TopicConfig.MIN_IN_SYNC_RACKS_SHADOW_CONFIG,
        TopicConfig.MIN_IN_SYNC_REPLICAS_INCONSISTENT_ACTION_CONFIG, TopicConfig.ACKS_ALL_SCOPE_CONFIG);

    /** The values that a resource itself has, and does not inherit; never empty. */
    record Own(ConfigResource resource, Map<String, String> values) {

        /** As kafka-configs.sh names it. */
        private String entity() {
            if (resource.type() == ConfigResource.Type.TOPIC)
                return "topics " + resource.name();
            return "brokers " + (resource.isDefault() ? "-" : resource.name());
        }

        private String line() {
            return entity() + " " + String.join(" ", values.entrySet().stream().map(e -> e.getKey() + "=" + e.getValue()).toList());
        }

        private Map<String, Object> document() {
            return Map.of("type", resource.type() == ConfigResource.Type.TOPIC ? "topics" : "brokers", "name", resource.name(), "settings", values);
        }
    }

    /** Reads what brokers have; topics are those of the view. */
    static StockSettings read(Admin admin, ClusterView view) throws ExecutionException, InterruptedException {
        List<Own> found = new ArrayList<>();
        for (Topic topic : view.topics().values())
            add(found, new ConfigResource(ConfigResource.Type.TOPIC, topic.name()), topic.own());
        List<ConfigResource> brokers = new ArrayList<>(List.of(new ConfigResource(ConfigResource.Type.BROKER, "")));
        view.brokers().keySet().stream().filter(view::isAlive).forEach(id -> brokers.add(new ConfigResource(ConfigResource.Type.BROKER, String.valueOf(id))));
        Map<ConfigResource, Config> described = admin.describeConfigs(brokers).all().get();
        for (ConfigResource broker : brokers) {
            ConfigEntry.ConfigSource own = broker.isDefault() ? ConfigEntry.ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG : ConfigEntry.ConfigSource.DYNAMIC_BROKER_CONFIG;
            add(found, broker, ClusterReader.values(described.get(broker), own));
        }
        return new StockSettings(List.copyOf(found), view.level(), view.topics().values().stream().filter(StockSettings::hasSet).map(Topic::name).toList());
    }

    private static boolean hasSet(Topic topic) {
        return topic.partitions().stream().anyMatch(partition -> !partition.electable().isEmpty());
    }

    private static void add(Collection<Own> found, ConfigResource resource, Map<String, String> values) {
        Map<String, String> unknown = new TreeMap<>(values);
        unknown.keySet().retainAll(UNKNOWN);
        if (!unknown.isEmpty())
            found.add(new Own(resource, unknown));
    }

    boolean isNothing() {
        return set.isEmpty() && level == 0;
    }

    List<String> lines() {
        List<String> lines = new ArrayList<>(set.stream().map(Own::line).toList());
        if (level > 0)
            lines.add("feature " + RackspanVersion.FEATURE_NAME + "=" + level);
        electable.forEach(topic -> lines.add("topics " + topic + " electable set"));
        return lines;
    }

    List<Map<String, Object>> document() {
        return set.stream().map(Own::document).toList();
    }

    /** Removes the settings. What a stock controller does not know stays. */
    void remove(Admin admin) throws ExecutionException, InterruptedException {
        for (Own one : set) {
            List<AlterConfigOp> deletions = one.values.keySet().stream()
                .map(name -> new AlterConfigOp(new ConfigEntry(name, ""), AlterConfigOp.OpType.DELETE)).toList();
            try {
                admin.incrementalAlterConfigs(Map.of(one.resource, deletions)).all().get();
            } catch (ExecutionException e) {
                if (!(e.getCause() instanceof InvalidConfigurationException))
                    throw e;
                // A stock controller's answer; what is left is listed afterwards.
            }
        }
    }

    /** Lowers the level to 0, which is refused while there is an electable set. */
    void lower(Admin admin) throws ExecutionException, InterruptedException {
        if (level > 0) {
            FeatureUpdate lower = new FeatureUpdate((short) 0, FeatureUpdate.UpgradeType.SAFE_DOWNGRADE);
            admin.updateFeatures(Map.of(RackspanVersion.FEATURE_NAME, lower), new UpdateFeaturesOptions()).all().get();
        }
    }
}
