// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.metrics.KafkaMetricsGroup;
import org.apache.kafka.server.partition.PartitionState;
import org.apache.kafka.server.replica.Replica;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.UnifiedLog;

import io.rackspan.protocol.Electable;

import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.Lock;

import scala.Tuple2;

/** Requests with acks=min.insync.replicas on one partition of this broker: {@link AckQuorum} with the state that it is asked about. */
public final class QuorumGates {

    private static final String RECORDS = "AckedAboveHighWatermarkRecords";
    private static final String BYTES = "AckedAboveHighWatermarkBytes";
    private static final String ELECTABLE = "ElectableReplicaCount";

    private final RackGates racks;
    private final Leadership partition;
    private final Lock readLock;
    private final AckQuorum quorum;
    private final ElectableGate electable;

    /** @param readLock the partition's read lock */
    public QuorumGates(RackGates racks, Leadership partition, Lock readLock, AckQuorum quorum) {
        this(racks, partition, readLock, quorum, Time.SYSTEM, () -> { });
    }

    /** @param changed runs when another electable set that this broker has proposed is in force */
    public QuorumGates(RackGates racks, Leadership partition, Lock readLock, AckQuorum quorum, Time time, Runnable changed) {
        this.racks = racks;
        this.partition = partition;
        this.readLock = readLock;
        this.quorum = quorum;
        this.electable = new ElectableGate(racks, partition, quorum, time::milliseconds, changed);
    }

    /** Adds the gauges of the partition; returns this. */
    public QuorumGates withGauges(KafkaMetricsGroup group, Map<String, String> tags) {
        group.newGauge(RECORDS, this::exposedRecords, tags);
        group.newGauge(BYTES, this::exposedBytes, tags);
        // Followers, and partitions without a set, have no value: a minimum would be theirs.
        group.newGauge(ELECTABLE, this::electableReplicas, tags);
        return this;
    }

    /** Removes them. */
    public static void removeGauges(KafkaMetricsGroup group, Map<String, String> tags) {
        List.of(RECORDS, BYTES, ELECTABLE).forEach(name -> group.removeMetric(name, tags));
    }

    /** The quorum of this partition. */
    public AckQuorum quorum() {
        return quorum;
    }

    /** The electable set of this partition. */
    public ElectableGate electable() {
        return electable;
    }

    /** The log, if this broker leads the partition; else null. */
    public UnifiedLog log() {
        return partition.log();
    }

    /** True while a request waits here or there is an electable set: the reports of followers are of interest. */
    public boolean isActive() {
        return quorum.isAwaited() || electable.isActive();
    }

    /** True if the high watermark may not move: the in-sync replicas are in too few racks, or a member of an electable set is not among them. */
    public boolean holdsHighWatermark(PartitionState state) {
        return racks.holdsHighWatermark() || electable.holdsHighWatermark(state);
    }

    /** True if this broker leads and the partition has an electable set. */
    boolean hasElectable() {
        return partition.log() != null && !electable.committed().isEmpty();
    }

    private Integer electableReplicas() {
        Electable set = electable.committed();
        return partition.log() == null || set.isEmpty() ? null : set.complete().size();
    }

    /** Records that were acknowledged in this term and that the high watermark has not reached; 0 on followers. */
    public long exposedRecords() {
        UnifiedLog log = partition.log();
        return log == null ? 0 : Exposure.records(log, quorum.acknowledged());
    }

    /** Their bytes in the log. */
    public long exposedBytes() {
        UnifiedLog log = partition.log();
        return log == null ? 0 : Exposure.bytes(log, quorum.acknowledged());
    }

    /**
     * The state of a waiting request: enough in-sync replicas in enough racks hold everything below `requiredOffset`, or an error
     * says why it will not be waited for any longer. What the high watermark has passed, every in-sync replica holds. It takes the lock,
     * as an answer must rest on one term and one ISR.
     */
    public Tuple2<Object, Errors> check(AckQuorum.Waiter waiter, long requiredOffset) {
        readLock.lock();
        try {
            UnifiedLog log = partition.log();
            if (log == null || !quorum.isInTerm(waiter))
                return new Tuple2<>(false, Errors.NOT_LEADER_OR_FOLLOWER);
            PartitionState state = partition.state();
            int minReplicas = partition.minReplicas(log);
            Errors error = state.isr().size() < minReplicas ? Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND : racks.checkAfterAppend(AppendOrigin.CLIENT);
            boolean reached = error == Errors.NONE && (log.highWatermark() >= requiredOffset || isReached(waiter, requiredOffset, state, minReplicas));
            return new Tuple2<>(reached, error);
        } finally {
            readLock.unlock();
        }
    }

    private boolean isReached(AckQuorum.Waiter waiter, long requiredOffset, PartitionState state, int minReplicas) {
        if (racks.ledger().holds()) {
            quorum.misses(requiredOffset);
            return false;
        }
        int minRacks = racks.ledger().quorumRacks(state);
        List<Integer> members = electable.awaited(minReplicas, minRacks);
        boolean reached = quorum.reached(requiredOffset, state, minReplicas, minRacks, members);
        // Noted before the lock is given back: who joins the electable set must have it
        if (reached && members != null)
            quorum.acknowledged(waiter, requiredOffset);
        return reached;
    }

    /** Notes an acknowledgement by the quorum; returns how many of its records are above the high watermark. */
    public long acknowledged(AckQuorum.Waiter waiter, long baseOffset, long requiredOffset) {
        quorum.acknowledged(waiter, requiredOffset);
        UnifiedLog log = partition.log();
        return log == null ? 0 : Math.max(0, requiredOffset - Math.max(baseOffset, log.highWatermark()));
    }

    /** The reason why an appended request cannot be acknowledged, for the answer; it is logged once in a while. */
    public String refusalAfterAppend(Errors error, Time time) {
        UnifiedLog log = partition.log();
        return quorum.refusedAfterAppend(error == Errors.NOT_ENOUGH_RACKS_AFTER_APPEND ? racks.shortage() :
            quorum.replicaShortage(log == null ? 0 : partition.minReplicas(log), partition.state().isr()), time);
    }

    /** True if the fetch of a follower whose log end was `endBefore` may complete requests. Call it for every fetch. */
    public boolean moved(Replica follower, long endBefore) {
        return quorum.isAwaited() && quorum.wakes(follower, endBefore);
    }
}
