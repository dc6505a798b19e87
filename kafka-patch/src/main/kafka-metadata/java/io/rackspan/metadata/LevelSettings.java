// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ApiError;

import io.rackspan.common.RackspanVersion;

import java.util.Collection;

/** The settings that only a level of rackspan.version puts in force, so that they are refused below it. */
public final class LevelSettings {

    // Not by the constants of TopicConfig: the patches that add them come behind the one of the level.
    public static final String MIN_RACKS = "min.insync.racks";
    private static final String SCOPE = "acks.all.scope";
    private static final int NAMED = 20;

    private LevelSettings() {
    }

    /** True if this value asks for more than stock Kafka does. A value that is no number is refused elsewhere. */
    public static boolean needsLevel(String name, String value) {
        if (value == null)
            return false;
        if (name.equals(MIN_RACKS))
            return value.trim().matches("\\d+") && !value.trim().matches("0*1?");
        return name.equals(SCOPE) && value.trim().equals("min.insync.replicas");
    }

    /** The refusal of a record, or no error. */
    public static ApiError check(ConfigRecord record, short level) {
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
