// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.TopicPartition;

import io.rackspan.common.RackspanVersion;
import io.rackspan.metadata.RackRules;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;

/**
 * The partitions of this broker that may need another electable set without anything being reported: a member that hangs sends no fetch. They are
 * checked at times, from the first request with acks=min.insync.replicas on, as long as they have a set or a request that needs one.
 */
public final class ElectableWatch {

    /** The time between two checks. */
    public static final long PERIOD_MS = 50;

    private final Set<TopicPartition> partitions = ConcurrentHashMap.newKeySet();

    /** Watches the partitions on which a request waits; none below level 2. */
    public void begin(QuorumWaiters waiters, RackRules rules) {
        if (rules != null && RackspanVersion.hasElectableSets(rules.level()))
            partitions.addAll(waiters.partitions());
    }

    /** Checks all; true from `check` keeps a partition. */
    public void check(Predicate<TopicPartition> check) {
        partitions.removeIf(check.negate());
    }
}
