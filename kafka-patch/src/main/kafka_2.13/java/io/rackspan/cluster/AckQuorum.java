// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.NotEnoughReplicasException;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.partition.PartitionState;
import org.apache.kafka.server.partition.PendingShrinkIsr;
import org.apache.kafka.server.replica.Replica;
import org.apache.kafka.server.replica.ReplicaState;

import io.rackspan.metadata.BrokerRacks;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.ArrayList;
import java.util.Collection;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/**
 * The quorum that requests with acks=min.insync.replicas wait for on one partition: the members of the ISR that hold their
 * records, the leader included, must number min.insync.replicas and be in min.insync.racks racks.
 *
 * <p>Counted are replicas that the controller has in the ISR and that this leader does not propose to remove, with the log end
 * they reported in the current leader epoch. The count is kept only while someone waits; otherwise a report of a follower
 * costs one volatile read, and one that moves nothing a few. It starts anew whenever one of the objects that it is based on is replaced, which is
 * recognised by identity.
 *
 * <p>Thread-safe, with a lock that is held for a few comparisons and under which no other lock is taken. Methods that
 * take a partition state are called with the partition's read or write lock, so that what they are given goes together.
 */
public final class AckQuorum {

    private record View(PartitionState state, BrokerRacks racks, int minReplicas, int minRacks, List<Integer> members, QuorumOffset quorum) { }

    private static final Logger LOG = LoggerFactory.getLogger(AckQuorum.class);
    private static final long NOTHING = Long.MAX_VALUE;

    private final TopicPartition partition;
    private final int leader;
    private final IntFunction<Replica> followers;
    private final Supplier<BrokerRacks> racks;

    private final RefusalLog refusalLog = new RefusalLog();

    /** Followers whose known log end is from an earlier leader epoch of this term, with the state that has it. */
    private final Map<Replica, ReplicaState> unconfirmed = new IdentityHashMap<>();
    private View view;

    /** The lowest offset that a check has missed since waiters were last woken: who waits was checked once before, and again when it was woken. */
    private long missed = NOTHING;

    /** The view, if it counts every follower that it knows and nobody waits for what it has; read without the lock. */
    private volatile View settled;

    private volatile int waiting = 0;
    private volatile int busy = 0;
    private volatile Object term;
    private volatile long acknowledged = 0;

    /**
     * @param partition the partition, for texts
     * @param leader    the id of this broker
     * @param followers the follower with an id; null if there is none
     * @param racks     the racks of brokers now
     */
    public AckQuorum(TopicPartition partition, int leader, IntFunction<Replica> followers, Supplier<BrokerRacks> racks) {
        this.partition = partition;
        this.leader = leader;
        this.followers = followers;
        this.racks = racks;
    }

    /** One partition of one waiting request. It remembers the term in which it began, and is counted until released. */
    public static final class Waiter {

        private final AckQuorum quorum;
        private final Object begun;
        private boolean released = false;

        private Waiter(AckQuorum quorum, Object begun) {
            this.quorum = quorum;
            this.begun = begun;
        }

        /** Ends the wait, as the answer is settled. Idempotent. */
        public void release() {
            synchronized (quorum) {
                if (!released) {
                    released = true;
                    quorum.waiting--;
                }
            }
        }
    }

    /** Begins to wait. Call it before the append: no term that the record was not appended in may be taken for the waiter's. */
    public synchronized Waiter await() {
        if (waiting == 0) {
            forget();
            busy++;
        }
        waiting++;
        return new Waiter(this, term);
    }

    /** True while anyone waits here. */
    public boolean isAwaited() {
        return waiting > 0;
    }

    /** How often waiting has begun: the same number while somebody always waits. */
    int busy() {
        return busy;
    }

    /** The number of waiters, for tests. */
    int waiting() {
        return waiting;
    }

    /** This broker has become the leader. What followers reported before is forgotten with their state. */
    public synchronized void startTerm() {
        term = new Object();
        acknowledged = 0;
        forget();
        unconfirmed.clear();
    }

    /**
     * A new leader epoch, and this broker is still the leader. Another broker may have led in between, unnoticed, and may have had
     * followers truncate: they count again when they fetch in this epoch.
     */
    public synchronized void startEpoch(Collection<Replica> replicas) {
        forget();
        unconfirmed.clear();
        replicas.forEach(replica -> unconfirmed.put(replica, replica.stateSnapshot()));
    }

    /** This broker is the leader no more. */
    public synchronized void endTerm() {
        term = null;
        forget();
        unconfirmed.clear();
    }

    /** True if this broker has led without a break since before the waiter's record was appended. */
    public boolean isInTerm(Waiter waiter) {
        return waiter.begun != null && waiter.begun == term;
    }

    /**
     * True if the report of a follower whose log end is where it was need not be given to {@link #moved}: the count is based
     * on these very objects, and no waiter is left to be woken. Takes no lock, so that what it is given may be of different moments:
     * any other change of them has the waiters checked anyway.
     */
    public boolean isSettled(PartitionState state, int minReplicas, int minRacks, List<Integer> members) {
        return isCurrent(settled, state, minReplicas, minRacks, members);
    }

    /** A follower has reported. Returns true if waiters may have what they wait for now. */
    public synchronized boolean moved(Replica follower, PartitionState state, int minReplicas, int minRacks, List<Integer> members) {
        if (isCurrent(view, state, minReplicas, minRacks, members))
            view.quorum.moved(follower, end(follower));
        else
            rebuild(state, minReplicas, minRacks, members);
        if (settled != view && unconfirmed.isEmpty())
            settled = view;
        boolean wakes = missed != NOTHING && view.quorum.offset() >= missed;
        if (wakes)
            missed = NOTHING;
        return wakes;
    }

    /**
     * True if enough replicas in enough racks hold everything below this offset. Else {@link #moved} returns true once they do.
     *
     * @param members those that have to hold it, the same object while they stay the same; null if any that are enough may
     */
    public synchronized boolean reached(long offset, PartitionState state, int minReplicas, int minRacks, List<Integer> members) {
        if (!isCurrent(view, state, minReplicas, minRacks, members))
            rebuild(state, minReplicas, minRacks, members);
        boolean reached = view.quorum.offset() >= offset;
        if (!reached)
            misses(offset);
        return reached;
    }

    /** Notes that a request continues to wait for this offset. */
    synchronized void misses(long offset) {
        missed = Math.min(missed, offset);
    }

    /** The id of this broker. */
    int leader() {
        return leader;
    }

    /** The log end that a follower has reported in this leader epoch; {@link QuorumOffset#NONE} if it has not. */
    synchronized long end(int follower) {
        Replica replica = followers.apply(follower);
        return replica == null ? QuorumOffset.NONE : end(replica);
    }

    /** Notes that everything below this offset is acknowledged, unless the waiter's term is over. */
    public synchronized void acknowledged(Waiter waiter, long offset) {
        if (isInTerm(waiter) && offset > acknowledged)
            acknowledged = offset;
    }

    /** The end of what was acknowledged in this term; 0 if nothing was. */
    public long acknowledged() {
        return acknowledged;
    }

    /** The refusal of a write with acks=min.insync.replicas before its append, and a line in the log if one is due. */
    public NotEnoughReplicasException refusedAppend(int minReplicas, Collection<Integer> isr, Time time) {
        String text = replicaShortage(minReplicas, isr);
        log(text, "append(s)", time);
        return new NotEnoughReplicasException(text);
    }

    /** Notes the refusal of a write that is in the log, with a line in the log if one is due; returns the text. */
    public String refusedAfterAppend(String text, Time time) {
        log(text, "appended write(s)", time);
        return text;
    }

    /** The number of replicas in sync, and the setting that requires more. */
    public String replicaShortage(int minReplicas, Collection<Integer> isr) {
        return "Partition " + partition + " has " + isr.size() + " in-sync replica(s) " + new TreeSet<>(isr) + ", but " +
            TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG + " is " + minReplicas + ".";
    }

    private void log(String text, String what, Time time) {
        long refused = refusalLog.refused(time.milliseconds());
        if (refused > 0)
            LOG.warn("{} Refused {} {} since the last such line.", text, refused, what);
    }

    private void forget() {
        view = null;
        settled = null;
    }

    private boolean isCurrent(View v, PartitionState state, int minReplicas, int minRacks, List<Integer> members) {
        return v != null && v.state == state && v.members == members && v.minReplicas == minReplicas && v.minRacks == minRacks &&
            (minRacks <= 1 || v.racks == racks.get());
    }

    private void rebuild(PartitionState state, int minReplicas, int minRacks, List<Integer> members) {
        settled = null;
        BrokerRacks where = minRacks > 1 ? racks.get() : BrokerRacks.EMPTY;
        // At level 1 any replicas in sync that are enough, at level 2 these replicas, each of them
        Collection<Integer> counted = members == null ? state.isr() : members;
        QuorumOffset quorum = members == null ? new QuorumOffset(counted.size(), minReplicas, minRacks) : new QuorumOffset(counted.size(), Math.max(1, counted.size()), 1);
        List<String> numbered = new ArrayList<>();
        for (int id : counted) {
            Replica follower = id == leader ? null : followers.apply(id);
            if (id == leader)
                quorum.add(this, number(where.settledRackOf(id), numbered), Long.MAX_VALUE);
            else if (follower != null && (members != null || !leaves(id, state)))
                quorum.add(follower, number(where.settledRackOf(id), numbered), end(follower));
        }
        quorum.settle();
        view = new View(state, where, minReplicas, minRacks, members, quorum);
    }

    /** In-sync replicas that this leader proposes to remove may be out of the ISR already. One that it proposes to add is not in it. */
    private static boolean leaves(int id, PartitionState state) {
        return state instanceof PendingShrinkIsr shrink && shrink.outOfSyncReplicaIds().contains(id);
    }

    private static int number(String rack, List<String> numbered) {
        if (rack == null)
            return QuorumOffset.NO_RACK;
        int known = numbered.indexOf(rack);
        if (known >= 0)
            return known;
        numbered.add(rack);
        return numbered.size() - 1;
    }

    private long end(Replica follower) {
        ReplicaState now = follower.stateSnapshot();
        if (!unconfirmed.isEmpty()) {
            if (unconfirmed.get(follower) == now)
                return QuorumOffset.NONE;
            unconfirmed.remove(follower);
        }
        return now.logEndOffset();
    }
}
