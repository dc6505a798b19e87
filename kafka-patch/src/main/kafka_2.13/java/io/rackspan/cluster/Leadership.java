// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.server.partition.PartitionState;
import org.apache.kafka.storage.internals.log.UnifiedLog;

import java.util.List;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;

/**
 * What the gates read of one partition. Each call reads it anew; what several calls give goes together only with the partition's
 * lock.
 */
public interface Leadership {

    /** The log, if this broker leads the partition; else null. */
    UnifiedLog log();

    /** The replicas in sync, and the change of them that the leader has proposed. */
    PartitionState state();

    /** The assigned replicas, those that a reassignment is adding included. */
    List<Integer> replicas();

    /** The min.insync.replicas in force for a log: no more than there are replicas. */
    int minReplicas(UnifiedLog log);

    /** One that asks these; each is asked anew by each call. */
    static Leadership of(Supplier<UnifiedLog> log, Supplier<PartitionState> state, Supplier<List<Integer>> replicas,
                         ToIntFunction<UnifiedLog> minReplicas) {
        return new Leadership() {
            @Override
            public UnifiedLog log() {
                return log.get();
            }

            @Override
            public PartitionState state() {
                return state.get();
            }

            @Override
            public List<Integer> replicas() {
                return replicas.get();
            }

            @Override
            public int minReplicas(UnifiedLog of) {
                return minReplicas.applyAsInt(of);
            }
        };
    }
}
