// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.image.ConfigurationsImage;

import io.rackspan.protocol.MinInSync;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The minimums that every topic requires to be in sync, ready for metadata responses (KIP-637). Immutable and made anew only when
 * a configuration changes, so that a request costs one map lookup for each topic.
 */
public final class TopicMinimums {

    private final ConfigurationsImage configs;
    private final int replicas;
    private final int racks;
    private final List<RawTaggedField> others;
    private final Map<String, List<RawTaggedField>> withOwnValue = new HashMap<>();

    private TopicMinimums(ConfigurationsImage configs, int replicas, int racks) {
        this.configs = configs;
        this.replicas = replicas;
        this.racks = racks;
        this.others = MinInSync.of(replicas, racks).fields();
    }

    /** The minimums in these configurations; `replicas` and `racks` are this broker's, for topics without a value of their own. */
    public static TopicMinimums of(ConfigurationsImage configs, int replicas, int racks) {
        TopicMinimums minimums = new TopicMinimums(configs, replicas, racks);
        configs.resourceData().forEach((resource, config) -> {
            String ownReplicas = config.data().get(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG);
            String ownRacks = config.data().get(TopicConfig.MIN_IN_SYNC_RACKS_CONFIG);
            if (resource.type() == ConfigResource.Type.TOPIC && (ownReplicas != null || ownRacks != null))
                minimums.withOwnValue.put(resource.name(), MinInSync.of(number(ownReplicas, replicas), number(ownRacks, racks)).fields());
        });
        return minimums;
    }

    private static int number(String text, int otherwise) {
        return text == null ? otherwise : Integer.parseInt(text.trim());
    }

    /** True if these are the minimums in this very image with these defaults. */
    public boolean isOf(ConfigurationsImage otherConfigs, int otherReplicas, int otherRacks) {
        return configs == otherConfigs && replicas == otherReplicas && racks == otherRacks;
    }

    /** Adds the fields to each topic that has no error. A null (from a cache that is no real one) adds nothing. */
    public static void declare(TopicMinimums minimums, List<MetadataResponseTopic> topics) {
        if (minimums == null)
            return;
        for (MetadataResponseTopic topic : topics)
            if (topic.errorCode() == Errors.NONE.code())
                topic.unknownTaggedFields().addAll(minimums.withOwnValue.getOrDefault(topic.name(), minimums.others));
    }
}
