// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ApiError;

import io.rackspan.common.Degrade;
import io.rackspan.common.RackspanVersion;

import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;

/** The settings that only a level of rackspan.version puts in force, so that they are refused below it. */
public final class LevelSettings {

    // Not by the constants of TopicConfig: the patches that add them come behind the one of the level.
    public static final String MIN_RACKS = "min.insync.racks";
    public static final String ACTION = "min.insync.replicas.inconsistent.action";
    static final String SCOPE = "acks.all.scope";
    static final String STRICT = "min.insync.racks.strict.placement";
    /** In server.properties it counts at every level. */
    static final String SHADOW = "min.insync.racks.shadow";
    private static final int NAMED = 20;

    /** The settings of which only the topic's value and the cluster default count, with what is in force from level 1 on without these. */
    static final Map<String, String> DEFAULTS = new TreeMap<>(Map.of(MIN_RACKS, "1", ACTION, "reject", SCOPE, "isr", STRICT, "false"));

    private LevelSettings() {
    }

    /** True if this value asks for more than stock Kafka does. A value that is no number is refused elsewhere. */
    public static boolean needsLevel(String name, String value) {
        if (value == null)
            return false;
        if (name.equals(MIN_RACKS))
            return number(value) > 1;
        if (name.equals(Degrade.NAME))
            return true;
        if (name.equals(STRICT))
            return isStrict(value);
        if (name.equals(SHADOW))
            return number(value) > 0;
        return name.equals(SCOPE) && value.trim().equals("min.insync.replicas");
    }

    /**
     * True if a topic with too few replicas goes by those that it has, as on stock (KIP-579).
     *
     * @param ofTopic        the topic's own value of {@link #ACTION}, or null
     * @param clusterDefault the cluster default, or null; values in server.properties do not count
     */
    public static boolean isClamped(String ofTopic, String clusterDefault) {
        String value = ofTopic == null ? clusterDefault : ofTopic;
        return value != null && value.trim().equals("clamp");
    }

    static boolean isStrict(String value) {
        return value != null && Boolean.parseBoolean(value.trim());
    }

    /** The number as all who go by it read it, a sign and blanks included; 0 for what is none. */
    static int number(String value) {
        try {
            return Integer.parseInt(value.trim());
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    /** True if two values of one of the {@link #DEFAULTS} mean the same. */
    static boolean areEqual(String name, String one, String other) {
        return name.equals(MIN_RACKS) ? number(one) == number(other) : one.trim().equals(other.trim());
    }

    /** The refusal of a record, or no error. */
    public static ApiError check(ConfigRecord record, short level) {
        if (level > 0 && record.name().equals(Degrade.NAME) && record.value() != null) // The controller writes it without asking
            return new ApiError(Errors.INVALID_CONFIG, Degrade.NAME + " cannot be set here: set it by kafka-racks.sh degrade, on a topic that is there.");
        if (level > 0 || !needsLevel(record.name(), record.value()))
            return ApiError.NONE;
        return new ApiError(Errors.INVALID_CONFIG, record.name() + "=" + record.value() + " cannot be set for " +
            words(new ConfigResource(ConfigResource.Type.forId(record.resourceType()), record.resourceName())) + ": it needs " +
            RackspanVersion.FEATURE_NAME + " 1, and the cluster is at level " + level + ". " + RackspanVersion.howToRaise());
    }

    public static String words(ConfigResource resource) {
        if (resource.type() == ConfigResource.Type.TOPIC)
            return "topic " + resource.name();
        return resource.name().isEmpty() ? "the cluster default" : "broker " + resource.name();
    }

    /** The first of these names, and how many more there are. */
    public static String named(Collection<String> names) {
        String first = String.join(", ", names.stream().limit(NAMED).toList());
        return names.size() > NAMED ? first + " and " + (names.size() - NAMED) + " more" : first;
    }
}
