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
import java.util.function.ToLongFunction;

/**
 * The quorum that requests with acks=min.insync.replicas wait for on one partition: the members of the ISR that hold their
 * records, the leader included, must number min.insync.replicas and be in min.insync.racks racks.
 *
 * <p>Counted are replicas that the controller has in the ISR and that this leader does not propose to remove, with the log end
 * they reported in the current leader epoch. A check that misses its offset notes that and what it counted over, and counts once more; a report
 * that is as far has this counted. So one of the two finds what the other has not. Otherwise a report of a follower costs a volatile read while
 * nobody waits, and a few while somebody does. Any other change than a report has the waiters checked. What is counted over is found anew whenever
 * one of the objects that it is based on is replaced, which is recognised by identity.
 *
 * <p>Thread-safe, with a lock that is held for a few comparisons, never by a count, and under which no other lock is taken.
 */
public final class AckQuorum {

    /** What is counted over, and what that is based on. */
    private record View(PartitionState state, BrokerRacks racks, int minReplicas, int minRacks, List<Integer> members, QuorumMembers<Replica> quorum) { }

    /** The lowest and the highest offset that checks have missed, and what all of them counted over; null for the latter if they differ. */
    private record Missed(long lowest, long highest, QuorumMembers<Replica> quorum) { }

    private static final Logger LOG = LoggerFactory.getLogger(AckQuorum.class);

    /** The log end of a follower that has reported none in this leader epoch. */
    private static final long NONE = -1;

    private final TopicPartition partition;
    private final int leader;
    private final IntFunction<Replica> followers;
    private final Supplier<BrokerRacks> racks;

    private final RefusalLog refusalLog = new RefusalLog();

    /** Followers whose known log end may be from an earlier leader epoch of this term, with the state that has it. Replaced, never changed. */
    private volatile Map<Replica, ReplicaState> unconfirmed = Map.of();

    private volatile View view;

    /** What checks have missed since waiters were last woken, null if nothing: who waits was checked once before, and again when it was woken. */
    private volatile Missed missed = null;

    /** {@link #end(Replica)}, made once, as counts allocate nothing. */
    private final ToLongFunction<Replica> ends = follower -> follower == null ? Long.MAX_VALUE : end(follower);

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
        if (waiting == 0)
            busy++;
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
        unconfirmed = Map.of();
        view = null;
    }

    /**
     * A new leader epoch, and this broker is still the leader. Another broker may have led in between, unnoticed, and may have had
     * followers truncate: they count again when they fetch in this epoch.
     */
    public synchronized void startEpoch(Collection<Replica> replicas) {
        Map<Replica, ReplicaState> before = new IdentityHashMap<>();
        replicas.forEach(replica -> before.put(replica, replica.stateSnapshot()));
        unconfirmed = before;
        view = null;
    }

    /** This broker is the leader no more. */
    public synchronized void endTerm() {
        term = null;
        unconfirmed = Map.of();
        view = null;
    }

    /** True if this broker has led without a break since before the waiter's record was appended. */
    public boolean isInTerm(Waiter waiter) {
        return waiter.begun != null && waiter.begun == term;
    }

    /**
     * True if a follower whose log end was `endBefore` has reported what waiters miss, so that they are to be checked. Call it after the report is
     * noted. A follower that had all that is missed before, or whose log end has not moved, brings nothing, unless it is its first report of a leader
     * epoch. Takes no lock.
     */
    public boolean wakes(Replica follower, long endBefore) {
        Missed known = missed;
        if (known == null)
            return false;
        long end = end(follower);
        if (end < known.lowest || (end == endBefore || endBefore >= known.highest) && !confirms(follower))
            return false;
        if (known.quorum != null && !known.quorum.hold(known.lowest, ends))
            return false;
        woken();
        return true;
    }

    /** True for the first report of a follower since {@link #startEpoch}. */
    private boolean confirms(Replica follower) {
        if (!unconfirmed.containsKey(follower))
            return false;
        synchronized (this) {
            Map<Replica, ReplicaState> others = new IdentityHashMap<>(unconfirmed);
            ReplicaState before = others.remove(follower);
            // Another epoch may have begun meanwhile
            if (before == null || before == follower.stateSnapshot())
                return false;
            unconfirmed = others;
            return true;
        }
    }

    /**
     * True if enough replicas in enough racks hold everything below this offset. Else {@link #wakes} returns true once they do.
     * Call it with the partition's read or write lock, so that what it is given goes together.
     *
     * @param members those that have to hold it, the same object while they stay the same; null if any that are enough may
     */
    public boolean reached(long offset, PartitionState state, int minReplicas, int minRacks, List<Integer> members) {
        QuorumMembers<Replica> quorum = quorum(state, minReplicas, minRacks, members);
        if (quorum.hold(offset, ends))
            return true;
        misses(offset, quorum);
        // A report that came before this was noted has woken nobody
        return quorum.hold(offset, ends);
    }

    /** Notes that a request continues to wait for this offset, whoever holds it. */
    void misses(long offset) {
        misses(offset, null);
    }

    private synchronized void misses(long offset, QuorumMembers<Replica> quorum) {
        Missed known = missed;
        missed = known == null ? new Missed(offset, offset, quorum)
            : new Missed(Math.min(known.lowest, offset), Math.max(known.highest, offset), known.quorum == quorum ? quorum : null);
    }

    private synchronized void woken() {
        missed = null;
    }

    /** The id of this broker. */
    int leader() {
        return leader;
    }

    /** The log end that a follower has reported in this leader epoch; negative if it has not. */
    long end(int follower) {
        Replica replica = followers.apply(follower);
        return replica == null ? NONE : end(replica);
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

    private QuorumMembers<Replica> quorum(PartitionState state, int minReplicas, int minRacks, List<Integer> members) {
        BrokerRacks where = minRacks > 1 ? racks.get() : BrokerRacks.EMPTY;
        View known = view;
        if (known == null || known.state != state || known.members != members || known.minReplicas != minReplicas || known.minRacks != minRacks || known.racks != where) {
            known = new View(state, where, minReplicas, minRacks, members, counted(state, where, minReplicas, minRacks, members));
            view = known;
        }
        return known.quorum;
    }

    private QuorumMembers<Replica> counted(PartitionState state, BrokerRacks where, int minReplicas, int minRacks, List<Integer> members) {
        List<Replica> counted = new ArrayList<>();
        List<String> named = new ArrayList<>();
        for (int id : members == null ? state.isr() : members) {
            Replica follower = id == leader ? null : followers.apply(id);
            if (id == leader || follower != null && (members != null || !leaves(id, state))) {
                counted.add(follower);
                named.add(where.settledRackOf(id));
            }
        }
        // At level 1 any replicas in sync that are enough, at level 2 these replicas, each of them
        return members == null ? new QuorumMembers<>(counted, named, minReplicas, minRacks) : new QuorumMembers<>(counted, named, Math.max(1, members.size()), 1);
    }

    /** In-sync replicas that this leader proposes to remove may be out of the ISR already. One that it proposes to add is not in it. */
    private static boolean leaves(int id, PartitionState state) {
        return state instanceof PendingShrinkIsr shrink && shrink.outOfSyncReplicaIds().contains(id);
    }

    private long end(Replica follower) {
        ReplicaState now = follower.stateSnapshot();
        return unconfirmed.get(follower) == now ? NONE : now.logEndOffset();
    }
}
