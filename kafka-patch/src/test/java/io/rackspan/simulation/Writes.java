// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.partition.PartitionState;
import org.apache.kafka.server.partition.PendingShrinkIsr;
import org.apache.kafka.server.replica.Replica;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.VerificationGuard;

import io.rackspan.cluster.AckQuorum;
import io.rackspan.metadata.BrokerRacks;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import scala.Tuple2;

/**
 * Produce requests of one record on a broker, which wait as in ReplicaManager and DelayedProduce: checked when the partition says so.
 * Rules of leaders are knocked out here.
 */
final class Writes {

    static final int ALL = -1;
    static final int QUORUM = -2;

    /** A request that waits for other replicas. */
    record Waiting(int record, long offset, int acks, AckQuorum.Waiter waiter) { }

    private final World world;
    private final Broker broker;
    private List<Waiting> waiting = new ArrayList<>();
    /** Appended, but not waiting yet: their threads were preempted. */
    private final List<Waiting> preempted = new ArrayList<>();

    Writes(World world, Broker broker) {
        this.world = world;
        this.broker = broker;
    }

    List<Waiting> waiting() {
        return waiting;
    }

    /** The connections of clients end without an answer. */
    void drop() {
        waiting.clear();
        preempted.clear();
    }

    /** Produces a record. Returns what became of it so far. */
    String produce(int record, int acks) {
        return produce(record, acks, false);
    }

    /** The same with a thread that is preempted after the append, until {@link #resume}. */
    String producePreempted(int record, int acks) {
        return produce(record, acks, true);
    }

    private String produce(int record, int acks, boolean stays) {
        SimulatedPartition partition = broker.partition();
        if (partition == null)
            return "not a replica";
        AckQuorum.Waiter waiter = acks == QUORUM ? partition.ackQuorum().await() : null;
        try {
            LogAppendInfo info = partition.appendRecordsToLeader(MemoryLog.records(record), AppendOrigin.CLIENT,
                world.isBroken(Rule.APPEND_GATE) ? 1 : acks, RequestLocal.noCaching(), VerificationGuard.SENTINEL, (short) -1);
            world.guarantee.appended(broker, acks);
            world.guarantee.holds(broker);
            Waiting request = new Waiting(record, info.firstOffset(), acks, waiter);
            if (acks != 1)
                (stays ? preempted : waiting).add(request);
            moveHighWatermark();
            check();
            return "at offset " + info.firstOffset() + (waiting.contains(request) ? ", waits" : preempted.contains(request) ? ", its thread is preempted" : "");
        } catch (ApiException e) {
            if (waiter != null)
                waiter.release();
            return Errors.forException(e).name();
        }
    }

    /** Preempted threads continue. Returns false if there are none. */
    boolean resume() {
        if (preempted.isEmpty())
            return false;
        waiting.addAll(preempted);
        preempted.clear();
        check();
        return true;
    }

    /** Answers those that have what they wait for. */
    void check() {
        if (waiting.isEmpty())
            return;
        List<Waiting> all = waiting;
        waiting = new ArrayList<>();
        for (Waiting request : all) {
            Tuple2<Object, Errors> state = state(request);
            if (state._2() == Errors.NONE && !(Boolean) state._1())
                waiting.add(request);
            else
                answer(request, state._2());
        }
    }

    private void answer(Waiting request, Errors error) {
        if (request.waiter != null)
            request.waiter.release();
        world.say(() -> "    record " + request.record + " is answered: " + error);
        if (error != Errors.NONE)
            return;
        if (request.acks == QUORUM)
            broker.partition().quorumGates().acknowledged(request.waiter, request.offset, request.offset + 1);
        world.guarantee.acknowledged(broker, request);
    }

    private Tuple2<Object, Errors> state(Waiting request) {
        SimulatedPartition partition = broker.partition();
        if (partition == null)
            return new Tuple2<>(false, Errors.NOT_LEADER_OR_FOLLOWER);
        long required = request.offset + 1;
        if (request.acks == QUORUM) {
            Tuple2<Object, Errors> real = partition.quorumGates().check(request.waiter, required);
            if (partition.isLeader() && (world.isBroken(Rule.QUORUM_SPAN) || world.isBroken(Rule.QUORUM_NUMBER) || world.isBroken(Rule.QUORUM_TERM)))
                return new Tuple2<>(partition.memory().highWatermark() >= required || isHeldByQuorum(partition, required),
                    world.isBroken(Rule.QUORUM_TERM) && real._2() == Errors.NOT_LEADER_OR_FOLLOWER ? Errors.NONE : real._2());
            if (real._2() == Errors.NONE && !(Boolean) real._1() && ElectableKnockout.isHeld(world, partition, broker.id, holders(partition, required), this::suffices))
                return new Tuple2<>(true, Errors.NONE);
            return real;
        }
        if (world.isBroken(Rule.AFTER_APPEND_GATE) && partition.isLeader())
            return new Tuple2<>(partition.memory().highWatermark() >= required, Errors.NONE);
        return partition.checkEnoughReplicasReachOffset(required);
    }

    private boolean isHeldByQuorum(SimulatedPartition partition, long required) {
        Set<Integer> holders = holders(partition, required);
        Settings settings = broker.settings();
        return (world.isBroken(Rule.QUORUM_NUMBER) || holders.size() >= Math.min(settings.minReplicas(), partition.assignmentState().replicationFactor())) &&
            (world.isBroken(Rule.QUORUM_SPAN) || span(holders) >= settings.minRacks());
    }

    private Set<Integer> holders(SimulatedPartition partition, long required) {
        Set<Integer> holders = new HashSet<>(partition.partitionState().isr());
        holders.removeIf(id -> id != broker.id && end(partition, id) < required);
        return holders;
    }

    private boolean suffices(Set<Integer> set) {
        Settings settings = broker.settings();
        return set.size() >= Math.min(settings.minReplicas(), broker.partition().assignmentState().replicationFactor()) && span(set) >= settings.minRacks();
    }

    private static long end(SimulatedPartition partition, int follower) {
        scala.Option<Replica> replica = partition.getReplica(follower);
        return replica.isEmpty() ? -1 : replica.get().stateSnapshot().logEndOffset();
    }

    private int span(Collection<Integer> brokers) {
        BrokerRacks racks = broker.cache().brokerRacks();
        return racks.span(brokers);
    }

    /** Moves the high watermark as a leader would that lacks one of its rules. */
    void moveHighWatermark() {
        boolean anySpan = world.isBroken(Rule.HIGH_WATERMARK_SPAN);
        boolean anyNumber = world.isBroken(Rule.HIGH_WATERMARK_NUMBER);
        boolean proposed = world.isBroken(Rule.MAXIMAL_ISR);
        boolean unnoted = world.isBroken(Rule.LEDGER_FIRST);
        boolean anyMember = world.isBroken(Rule.HIGH_WATERMARK_MEMBERS);
        if (!anySpan && !anyNumber && !proposed && !unnoted && !anyMember || !broker.leads())
            return;
        SimulatedPartition partition = broker.partition();
        PartitionState state = partition.partitionState();
        Settings settings = broker.settings();
        List<Integer> replicas = partition.assignmentState().replicas();
        Set<Integer> isr = new HashSet<>(state.isr());
        if (proposed && state instanceof PendingShrinkIsr shrink)
            isr.removeAll(shrink.outOfSyncReplicaIds());
        if (!anyNumber && isr.size() < Math.min(settings.minReplicas(), replicas.size()))
            return;
        if (!anySpan && span(isr) < Math.min(settings.minRacks(), span(broker.original())))
            return;
        if (!unnoted && partition.rackGates().ledger().holds())
            return;
        if (!anyMember && partition.quorumGates().electable().holdsHighWatermark(state))
            return;
        MemoryLog log = partition.memory();
        long mark = log.logEndOffset();
        for (int id : proposed ? isr : state.maximalIsr())
            if (id != broker.id)
                mark = Math.min(mark, end(partition, id));
        if (mark > log.highWatermark() && log.maybeIncrementHighWatermark(new LogOffsetMetadata(mark, 0, (int) mark)).isPresent())
            check();
    }
}
