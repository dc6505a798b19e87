// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;

import io.rackspan.metadata.InternalTopics;
import io.rackspan.metadata.RackRules;

/** The topic setting acks.all.scope. */
public final class AcksAllScope {

    private AcksAllScope() {
    }

    /** True if acks=all of clients waits for min.insync.replicas only on this log; never on internal topics and at level 0. */
    public static boolean isQuorum(UnifiedLog log, RackRules rules) {
        return !RackRules.isOff(rules) && isQuorum(log.config(), rules) && !InternalTopics.contains(log.topicPartition().topic());
    }

    /** By the topic's value, else the cluster default: what server.properties say differs from broker to broker. */
    private static boolean isQuorum(LogConfig topic, RackRules rules) {
        return topic.overriddenConfigs.contains(TopicConfig.ACKS_ALL_SCOPE_CONFIG) ? topic.acksAllNeedsMinInSyncReplicasOnly : rules.isQuorumScopeByDefault();
    }
}
