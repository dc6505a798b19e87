// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.server.util.Scheduler;

import io.rackspan.common.RackspanVersion;
import io.rackspan.metadata.RackRules;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;

/**
 * The partitions of this broker that may need another electable set without anything being reported: a member that hangs sends no fetch. They are
 * checked at times, from the first request with acks=min.insync.replicas on, as long as they have a set or a request that needs one. Where there is
 * no such partition nothing is scheduled.
 */
public final class ElectableWatch {

    /** The time between two checks. */
    public static final long PERIOD_MS = 50;

    private final Scheduler scheduler;
    private final Predicate<TopicPartition> check;
    private final Set<TopicPartition> partitions = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean scheduled = new AtomicBoolean();

    /** @param check checks a partition; true keeps it */
    public ElectableWatch(Scheduler scheduler, Predicate<TopicPartition> check) {
        this.scheduler = scheduler;
        this.check = check;
    }

    /** Watches the partitions on which a request waits; none below level 2. */
    public void begin(QuorumWaiters waiters, RackRules rules) {
        if (rules != null && RackspanVersion.hasElectableSets(rules.level()) && partitions.addAll(waiters.partitions()))
            schedule();
    }

    private void schedule() {
        if (scheduled.compareAndSet(false, true))
            scheduler.scheduleOnce("electable-set", this::checkAll, PERIOD_MS);
    }

    private void checkAll() {
        try {
            List.copyOf(partitions).forEach(this::check);
        } finally {
            scheduled.set(false); // before the look for more: what is added from here on schedules
            if (!partitions.isEmpty())
                schedule();
        }
    }

    private void check(TopicPartition partition) {
        partitions.remove(partition); // before its check: a request that begins during it adds the partition again
        boolean kept = true; // where the check fails
        try {
            kept = check.test(partition);
        } finally {
            if (kept)
                partitions.add(partition);
        }
    }
}
