// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.image.ConfigurationsImage;
import org.apache.kafka.metadata.MetadataCache;

import io.rackspan.protocol.Racks;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * The values that min.insync.racks may be set to, given the racks of the brokers. A broker checks its own
 * rack when it starts; the controller checks each change of a topic or cluster default by its registrations.
 */
public final class RackConfigCheck {

    private static final Logger LOG = LoggerFactory.getLogger(RackConfigCheck.class);
    private static final String NAME = TopicConfig.MIN_IN_SYNC_RACKS_CONFIG;
    private static final String REPLICAS = TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG;

    /** Logs nothing, for callers that know no racks. */
    public static final RackConfigCheck NONE = new RackConfigCheck(null);

    /** Replicas are needed, not addresses. */
    private static final ListenerName ANY_LISTENER = new ListenerName("ANY");
    private static final ConfigResource CLUSTER_DEFAULT = new ConfigResource(ConfigResource.Type.BROKER, "");

    private final MetadataCache cache;

    private RackConfigCheck(MetadataCache cache) {
        this.cache = cache;
    }

    /** Goes by the newest racks and topics of this cache. */
    public static RackConfigCheck of(MetadataCache cache) {
        return new RackConfigCheck(cache);
    }

    /**
     * A broker without a rack must not run under a server-wide value above 1.
     *
     * @throws ConfigException if it would
     */
    public static void requireOwnRack(int brokerId, int minRacks, Optional<String> rack) {
        if (minRacks > 1 && !Racks.isNamed(rack.orElse(null)))
            throw new ConfigException(NAME, minRacks, "Broker " + brokerId + " has no broker.rack, so its replicas would count for no rack " +
                "of their own. Set broker.rack on this broker, or set " + NAME + " to 1.");
    }

    /** The same for the highest value of the topics and the cluster that a starting broker finds in the metadata. */
    public static void requireOwnRack(int brokerId, ConfigurationsImage configs, Optional<String> rack) {
        int highest = configs.resourceData().values().stream().map(config -> config.data().get(NAME)).filter(Objects::nonNull)
            .mapToInt(value -> Integer.parseInt(value.trim())).max().orElse(1);
        requireOwnRack(brokerId, highest, rack);
    }

    /**
     * Requires a rack of every broker where racks are required. Only a raised value can be refused, and only a new value is looked at:
     * lowering it and altering other settings must work whatever has happened to the brokers.
     *
     * @param resource   the topic or broker; an empty broker name is the cluster default
     * @param newConfigs all values after the change
     * @param oldConfigs all values before the change
     * @param racks      the racks of the registered brokers
     * @throws InvalidConfigurationException if a registered broker has no rack, or the value is no number above 0
     */
    public static void requireNamed(ConfigResource resource, Map<String, String> newConfigs, Map<String, String> oldConfigs, Supplier<BrokerRacks> racks) {
        int minRacks = raised(resource, newConfigs, oldConfigs);
        if (minRacks == 0)
            return;
        SortedSet<Integer> unnamed = racks.get().unnamedBrokers();
        if (!unnamed.isEmpty())
            throw new InvalidConfigurationException(words(resource) + " cannot have " + NAME + "=" + minRacks + ": brokers " + unnamed +
                " have no broker.rack. Set broker.rack on every broker and restart it, or unregister brokers that are gone.");
    }

    /** The new value if it is higher than the one before, else 0. */
    private static int raised(ConfigResource resource, Map<String, String> newConfigs, Map<String, String> oldConfigs) {
        String text = newConfigs.get(NAME);
        if (text == null || text.equals(oldConfigs.get(NAME)))
            return 0;
        int minRacks = parse(resource, text);
        return minRacks > parse(resource, oldConfigs.getOrDefault(NAME, "1")) ? minRacks : 0;
    }

    /** Logs what a raised value stops, by the newest metadata of the cache; the parameters are those of {@link #requireNamed}. */
    public void warn(ConfigResource resource, Map<String, String> newConfigs, Map<String, String> oldConfigs) {
        if (cache == null)
            return;
        if (!RackRules.isOff(cache.rackRules()))
            warnOfReplicas(resource, newConfigs, oldConfigs);
        int minRacks = raised(resource, newConfigs, oldConfigs);
        if (minRacks == 0)
            return;
        BrokerRacks current = cache.brokerRacks();
        if (!current.unnamedBrokers().isEmpty()) // it will be refused
            return;
        if (minRacks > current.known().size()) { // which concerns every topic
            LOG.warn("{} now has {}={}, but the brokers are in {} rack(s) only: [{}]. Writes with acks=all are refused until there are more.",
                words(resource), NAME, minRacks, current.known().size(), BrokerRacks.describe(current.known()));
            return;
        }
        SortedSet<String> narrow = inFewerRacks(resource, minRacks, current);
        if (!narrow.isEmpty())
            LOG.warn("{} now has {}={}, and these topics are in fewer racks: {}. Writes to them with acks=all are refused, by an error that is " +
                "non-retriable: reassign them to more racks, or set {}=1 on them.", words(resource), NAME, minRacks, LevelSettings.named(narrow), NAME);
    }

    /** From level 1 on a topic with fewer replicas than it requires refuses writes, where stock goes by the replicas that it has (KIP-579). */
    private void warnOfReplicas(ConfigResource resource, Map<String, String> newConfigs, Map<String, String> oldConfigs) {
        int minReplicas = LevelSettings.number(newConfigs.getOrDefault(REPLICAS, "1"));
        if (minReplicas <= LevelSettings.number(oldConfigs.getOrDefault(REPLICAS, "1")))
            return;
        boolean isDefault = resource.equals(CLUSTER_DEFAULT);
        String clusterAction = isDefault ? newConfigs.get(LevelSettings.ACTION) : cache.rackRules().clusterDefault(LevelSettings.ACTION, null);
        SortedSet<String> few = having(resource, REPLICAS, replicas -> replicas.size() < minReplicas);
        few.removeIf(topic -> InternalTopics.contains(topic) || LevelSettings.isClamped(
            isDefault ? cache.topicConfig(topic).getProperty(LevelSettings.ACTION) : newConfigs.get(LevelSettings.ACTION), clusterAction));
        if (!few.isEmpty())
            LOG.warn("{} now has {}={}, and these topics have fewer replicas: {}. Writes to them with acks=all are refused, by an error that is " +
                "non-retriable: add replicas, lower the value, or set {}=clamp.", words(resource), REPLICAS, minReplicas, LevelSettings.named(few), LevelSettings.ACTION);
    }

    /** The topics that a change concerns and that have a partition whose replicas are in fewer racks; internal ones get by with theirs. */
    private SortedSet<String> inFewerRacks(ConfigResource resource, int minRacks, BrokerRacks current) {
        return having(resource, NAME, replicas -> current.possibleSpan(replicas) < minRacks);
    }

    /** The topics that a change of a setting concerns and that have a partition with such replicas. */
    private SortedSet<String> having(ConfigResource resource, String name, Predicate<List<Integer>> such) {
        Set<String> concerned = resource.equals(CLUSTER_DEFAULT) ? new TreeSet<>(cache.getAllTopics()) : Set.of(resource.name());
        if (resource.equals(CLUSTER_DEFAULT))
            concerned.removeIf(topic -> InternalTopics.contains(topic) || cache.topicConfig(topic).containsKey(name));
        SortedSet<String> found = new TreeSet<>();
        cache.getTopicMetadata(concerned, ANY_LISTENER, false, false).forEach(topic -> topic.partitions().forEach(partition -> {
            if (such.test(partition.replicaNodes()))
                found.add(topic.name());
        }));
        return found;
    }

    private static int parse(ConfigResource resource, String text) {
        int value;
        try {
            value = Integer.parseInt(text.trim());
        } catch (NumberFormatException e) {
            value = 0;
        }
        if (value < 1)
            throw new InvalidConfigurationException(words(resource) + " cannot have " + NAME + "=" + text + ": it must be an integer of at least 1.");
        return value;
    }

    private static String words(ConfigResource resource) {
        if (resource.type() == ConfigResource.Type.TOPIC)
            return "Topic " + resource.name();
        return resource.name().isEmpty() ? "The cluster default" : "Broker " + resource.name();
    }
}
