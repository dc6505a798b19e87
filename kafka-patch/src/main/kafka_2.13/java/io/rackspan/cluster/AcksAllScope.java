// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.storage.internals.log.UnifiedLog;

import io.rackspan.metadata.InternalTopics;
import io.rackspan.metadata.RackRules;

/** The topic setting acks.all.scope. */
public final class AcksAllScope {

    private AcksAllScope() {
    }

    /** True if acks=all of clients waits for min.insync.replicas only on this log; never on internal topics and at level 0. */
    public static boolean isQuorum(UnifiedLog log, RackRules rules) {
        return log.config().acksAllNeedsMinInSyncReplicasOnly && !RackRules.isOff(rules) && !InternalTopics.contains(log.topicPartition().topic());
    }
}
