package io.rackspan.metadata;

import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.image.ConfigurationsImage;
import org.apache.kafka.metadata.MetadataCache;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.function.Supplier;

/**
 * The values that min.insync.racks may be set to, given the racks of the brokers. A broker checks its own
 * rack when it starts; the controller, which sees every registration, checks each change of a topic or cluster default.
 */
public final class RackConfigCheck {

    private static final Logger LOG = LoggerFactory.getLogger(RackConfigCheck.class);
    private static final String NAME = TopicConfig.MIN_IN_SYNC_RACKS_CONFIG;

    /** Checks nothing, for callers that know no racks. */
    public static final RackConfigCheck NONE = new RackConfigCheck(() -> null);

    private final Supplier<BrokerRacks> racks;

    private RackConfigCheck(Supplier<BrokerRacks> racks) {
        this.racks = racks;
    }

    /** A check against the newest racks of this cache. */
    public static RackConfigCheck of(MetadataCache cache) {
        return new RackConfigCheck(cache::brokerRacks);
    }

    /**
     * A broker without a rack must not run under a server-wide value above 1.
     *
     * @throws ConfigException if it would
     */
    public static void requireOwnRack(int brokerId, int minRacks, Optional<String> rack) {
        if (minRacks > 1 && rack.orElse(BrokerRacks.UNNAMED).isEmpty())
            throw new ConfigException(NAME, minRacks, "Broker " + brokerId + " has no broker.rack, so its replicas would count for no rack " +
                "of their own. Set broker.rack on this broker, or set " + NAME + " to 1.");
    }

    /** The same for the cluster default that a starting broker finds in the metadata. */
    public static void requireOwnRack(int brokerId, ConfigurationsImage configs, Optional<String> rack) {
        String value = configs.configMapForResource(new ConfigResource(ConfigResource.Type.BROKER, "")).get(NAME);
        if (value != null)
            requireOwnRack(brokerId, Integer.parseInt(value.trim()), rack);
    }

    /**
     * Checks a change of configuration. Only a raised value can be refused, and only a new value is looked at: lowering it
     * and altering other settings must work whatever has happened to the brokers.
     *
     * @param resource   the topic or broker; an empty broker name is the cluster default
     * @param newConfigs all values after the change
     * @param oldConfigs all values before the change
     * @throws InvalidConfigurationException if a registered broker has no rack, or the value is no number above 0
     */
    public void validate(ConfigResource resource, Map<String, String> newConfigs, Map<String, String> oldConfigs) {
        BrokerRacks current = racks.get();
        String text = newConfigs.get(NAME);
        if (current == null || text == null || text.equals(oldConfigs.get(NAME)))
            return;
        int minRacks = parse(resource, text);
        if (minRacks <= parse(resource, oldConfigs.getOrDefault(NAME, "1")))
            return;
        SortedSet<Integer> unnamed = current.unnamedBrokers();
        if (!unnamed.isEmpty())
            throw new InvalidConfigurationException(words(resource) + " cannot have " + NAME + "=" + minRacks + ": brokers " + unnamed +
                " have no broker.rack. Set broker.rack on every broker and restart it, or unregister brokers that are gone.");
        if (minRacks > current.known().size())
            LOG.warn("{} now has {}={}, but the brokers are in {} rack(s) only: [{}]. Writes with acks=all are refused until there are more.",
                words(resource), NAME, minRacks, current.known().size(), BrokerRacks.describe(current.known()));
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
