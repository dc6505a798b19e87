// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.UnifiedLog;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * The partitions on which one produce request waits for min.insync.replicas instead of the full ISR. Filled before the append,
 * released when the request is answered. Filled by one thread; after that only read.
 */
public final class QuorumWaiters {

    private Map<TopicPartition, AckQuorum.Waiter> waiters = Map.of();

    /**
     * Begins to wait wherever a request waits for the quorum: with acks=min.insync.replicas on all partitions, with acks=all where the
     * scope says so. Only writes of clients do.
     *
     * @param partitions the request's partitions
     * @param online     the gates of a partition; null if it is not online here
     * @param scope      true for the logs on which acks=all waits for the quorum
     */
    public static QuorumWaiters begin(short acks, AppendOrigin origin, Iterable<TopicIdPartition> partitions,
                                      Function<TopicPartition, QuorumGates> online, Predicate<UnifiedLog> scope) {
        QuorumWaiters begun = new QuorumWaiters();
        if (acks < 0 && origin == AppendOrigin.CLIENT)
            for (TopicIdPartition tp : partitions) {
                QuorumGates gates = online.apply(tp.topicPartition());
                if (gates != null && (acks == ProduceAcks.MIN_INSYNC_REPLICAS || contains(scope, gates.log())))
                    begun.add(tp.topicPartition(), gates.quorum());
            }
        return begun;
    }

    private static boolean contains(Predicate<UnifiedLog> scope, UnifiedLog log) {
        return log != null && scope.test(log);
    }

    /** Begins to wait on a partition. Idempotent: one request may name a partition twice, by two topic ids. */
    public void add(TopicPartition partition, AckQuorum quorum) {
        if (waiters.isEmpty())
            waiters = new HashMap<>();
        waiters.computeIfAbsent(partition, p -> quorum.await());
    }

    /** The partitions that it waits on. */
    Set<TopicPartition> partitions() {
        return waiters.keySet();
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
