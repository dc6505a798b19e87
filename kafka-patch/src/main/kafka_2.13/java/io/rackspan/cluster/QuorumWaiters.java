package io.rackspan.cluster;

import org.apache.kafka.common.TopicPartition;

import java.util.HashMap;
import java.util.Map;

/**
 * The partitions on which one produce request waits for min.insync.replicas instead of the full ISR. Filled before the append,
 * released when the request is answered. Filled by one thread; after that only read.
 */
public final class QuorumWaiters {

    private Map<TopicPartition, AckQuorum.Waiter> waiters = Map.of();

    /** Begins to wait on a partition. Idempotent: one request may name a partition twice, by two topic ids. */
    public void add(TopicPartition partition, AckQuorum quorum) {
        if (waiters.isEmpty())
            waiters = new HashMap<>();
        waiters.computeIfAbsent(partition, p -> quorum.await());
    }

    /** The waiter on a partition; null if the request waits for the full ISR there. */
    public AckQuorum.Waiter on(TopicPartition partition) {
        return waiters.get(partition);
    }

    /** Ends all waits: the request is answered, or never will be. */
    public void release() {
        for (AckQuorum.Waiter waiter : waiters.values())
            waiter.release();
    }
}
