// SPDX-License-Identifier: Apache-2.0
package io.rackspan.common;

import org.apache.kafka.server.common.EligibleLeaderReplicasVersion;
import org.apache.kafka.server.common.FeatureVersion;
import org.apache.kafka.server.common.MetadataVersion;

import java.util.Map;

/** The levels of the finalized feature rackspan.version: which rules are in force that nodes of other distributions do not know. */
public enum RackspanVersion implements FeatureVersion {

    /** Everything as on stock Kafka. */
    RSV_0(0, MetadataVersion.MINIMUM_VERSION, Map.of()),

    /** min.insync.racks with its eligible leaders, acks=min.insync.replicas, and no clamp of min.insync.replicas. */
    RSV_1(1, MetadataVersion.IBP_4_1_IV0, Map.of(EligibleLeaderReplicasVersion.FEATURE_NAME, (short) 1)),

    /** acks=min.insync.replicas loses nothing: the electable set. */
    RSV_2(2, MetadataVersion.IBP_4_1_IV0, Map.of(EligibleLeaderReplicasVersion.FEATURE_NAME, (short) 1));

    public static final String FEATURE_NAME = "rackspan.version";

    public static final RackspanVersion LATEST_PRODUCTION = RSV_2;

    private final short level;
    private final MetadataVersion bootstrapMetadataVersion;
    private final Map<String, Short> dependencies;

    RackspanVersion(int level, MetadataVersion bootstrapMetadataVersion, Map<String, Short> dependencies) {
        this.level = (short) level;
        this.bootstrapMetadataVersion = bootstrapMetadataVersion;
        this.dependencies = dependencies;
    }

    /** The level in these finalized features. */
    public static short levelIn(Map<String, Short> finalizedVersions) {
        return finalizedVersions.getOrDefault(FEATURE_NAME, (short) 0);
    }

    /** True from the level on at which partitions have electable sets. */
    public static boolean hasElectableSets(short level) {
        return level >= RSV_2.level;
    }

    /** Words for what to do where something needs a higher level. */
    public static String howToRaise() {
        return "Raise it with kafka-features.sh --bootstrap-server HOST:PORT upgrade --feature " + FEATURE_NAME + "=" + LATEST_PRODUCTION.level + ".";
    }

    @Override
    public short featureLevel() {
        return level;
    }

    @Override
    public String featureName() {
        return FEATURE_NAME;
    }

    @Override
    public MetadataVersion bootstrapMetadataVersion() {
        return bootstrapMetadataVersion;
    }

    @Override
    public Map<String, Short> dependencies() {
        return dependencies;
    }
}
