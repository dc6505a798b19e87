package io.rackspan.cluster;

import org.apache.kafka.common.TopicPartition;

import java.util.HashMap;
import java.util.Map;

/**
 * The partitions on which one produce request waits for min.insync.replicas instead of the whole ISR. Filled before the append,
 * released when the request is answered. Filled by one thread; after that only read.
 */
public final class QuorumWaiters {

    private Map<TopicPartition, AckQuorum.Waiter> waiters = Map.of();

    /** Begin to wait on a partition. Twice for one partition, as with two topic ids in one request, is once. */
    public void add(TopicPartition partition, AckQuorum quorum) {
        if (waiters.isEmpty())
            waiters = new HashMap<>();
        waiters.computeIfAbsent(partition, p -> quorum.await());
    }

    /** The waiter on a partition; null if the whole ISR is waited for there. */
    public AckQuorum.Waiter on(TopicPartition partition) {
        return waiters.get(partition);
    }

    /** The request is answered, or will never be. */
    public void release() {
        for (AckQuorum.Waiter waiter : waiters.values())
            waiter.release();
    }
}
