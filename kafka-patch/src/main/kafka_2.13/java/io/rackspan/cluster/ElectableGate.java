// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.server.partition.PartitionState;
import org.apache.kafka.storage.internals.log.UnifiedLog;

import io.rackspan.common.RackspanVersion;
import io.rackspan.metadata.BrokerRacks;
import io.rackspan.metadata.RackRules;
import io.rackspan.protocol.Electable;

import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import java.util.function.LongSupplier;

/**
 * The {@link Electable} set of one partition as its leader goes by it: what it proposes, whose logs an acknowledgement with
 * acks=min.insync.replicas waits for, and when the high watermark waits.
 *
 * <p>While a set is proposed, acknowledgements wait for its members and for those of the committed one. Whoever joins has all that is acknowledged
 * then, and all from before this leader. Methods that change something are called with the partition's write lock.
 */
public final class ElectableGate {

    private static final int NEVER = Integer.MIN_VALUE;

    /** How long a set is kept after the last request that waited for it. */
    static final long IDLE_MS = 10_000;

    /** How often it is looked whether another set is better while nothing else changes. One that has to be replaced is looked for at each report. */
    private static final long CHECK_MS = 10;

    /** How long nothing is proposed after a refusal. */
    static final long RETRY_MS = 50;

    private record Assignment(List<Integer> replicas, List<Integer> removing) {

        private List<Integer> staying() {
            return removing.isEmpty() ? replicas : replicas.stream().filter(replica -> !removing.contains(replica)).toList();
        }
    }

    /** Whose logs are waited for, and what that is based on. */
    private record Awaited(Electable committed, Electable proposed, int minReplicas, int minRacks, BrokerRacks racks, List<Integer> members) { }

    /** The state with which the committed set was looked at, and found to suffice, and when. */
    private record Checked(PartitionState state, long atMs) { }

    /** Whether the high watermark waits for a member, and what that is based on. */
    private record Held(PartitionState state, Electable committed, Electable proposed, boolean isHeld) { }

    private final RackGates racks;
    private final Leadership partition;
    private final AckQuorum quorum;
    private final FollowerDelays delays = new FollowerDelays();
    private final ElectableWait wait;
    private final Runnable changed;

    private volatile Electable committed = Electable.NONE;
    private volatile Electable proposed = null;
    private volatile Assignment assignment = new Assignment(List.of(), List.of());
    private volatile Awaited awaited = new Awaited(null, null, 0, 0, null, List.of());

    /** The partition epoch at which the controller has refused a proposal: none follows before a later one is registered, or the rules are others. */
    private volatile int refusedAt = NEVER;
    private volatile Object refusedUnder = null;
    private volatile long retryMs = 0;
    private volatile boolean wasAwaited = false;
    private volatile long awaitedMs = 0;
    private volatile long changedMs = 0;
    private volatile boolean mayStay = false;
    private volatile Checked checked = null;
    private volatile Held held = new Held(null, null, null, false);

    /** @param changed runs when the controller has accepted a set that was proposed here */
    ElectableGate(RackGates racks, Leadership partition, AckQuorum quorum, LongSupplier clock, Runnable changed) {
        this.wait = new ElectableWait(quorum, clock);
        this.changed = changed;
        this.racks = racks;
        this.partition = partition;
        this.quorum = quorum;
    }

    private boolean isInForce() {
        RackRules rules = racks.rules();
        return rules != null && RackspanVersion.hasElectableSets(rules.level());
    }

    /** Takes over what the metadata has. */
    public void registered(Electable registered, int[] replicas, int[] removing) {
        assignment = new Assignment(Replicas.toList(replicas), Replicas.toList(removing));
        settled(registered);
    }

    /** The controller has answered with this set; null if the answer has none. */
    public void accepted(Electable answered) {
        settled(answered == null ? committed : answered);
    }

    private void settled(Electable now) {
        if (now.equals(proposed))
            changed.run();
        if (!now.equals(committed))
            committed = now;
        proposed = null;
        checked = null;
        retryMs = 0;
    }

    /**
     * The controller has refused the proposal that was made at this partition epoch, and will accept no copy of it. One that was not even sent, as the
     * one before is unanswered, would be made again at each append and each report: that waits.
     */
    public void refused(int partitionEpoch, long nowMs) {
        proposed = null;
        refusedUnder = RackRules.identity(racks.rules());
        refusedAt = partitionEpoch;
        retryMs = nowMs + RETRY_MS;
    }

    private boolean isTooSoon(long nowMs) {
        return nowMs < retryMs && nowMs >= retryMs - RETRY_MS;
    }

    /** At a level without sets a refusal leaves the partition epoch, and the level may be raised again. */
    private boolean isRefused(int partitionEpoch) {
        return refusedAt >= partitionEpoch && refusedUnder == RackRules.identity(racks.rules());
    }

    /** This broker leads no more, or begins to. */
    public void forget() {
        committed = Electable.NONE;
        proposed = null;
        refusedAt = NEVER;
        wasAwaited = false;
        checked = null;
        delays.clear();
    }

    /** The committed set. */
    public Electable committed() {
        return committed;
    }

    /** True if there is a set, or a request that may need one. False costs three volatile reads. */
    public boolean isActive() {
        return !committed.isEmpty() || wasAwaited || quorum.isAwaited() && isInForce();
    }

    /** The log ends here, for the choice of the fastest followers. Call it if {@link #isActive}, while the request that has appended is awaited. */
    public void appended(long end, long nowMs) {
        noteAwaited(nowMs);
        delays.appended(end, nowMs);
    }

    private void noteAwaited(long nowMs) {
        // A set that a new leader finds is kept for as long as after a request: its producers are about to follow
        if (quorum.isAwaited() || !committed.isEmpty() && !wasAwaited) {
            awaitedMs = nowMs;
            wasAwaited = true;
        }
    }

    /** A follower has reported its log end, for the same. */
    public void reported(int follower, long end, long nowMs) {
        delays.reported(follower, end, nowMs);
    }

    /** True if the high watermark may not move, as a member of the committed or of the proposed set is not in the ISR that it waits for. */
    public boolean holdsHighWatermark(PartitionState state) {
        Electable now = committed;
        Electable going = proposed;
        if (now.isEmpty() && going == null)
            return false;
        Held known = held;
        if (known.state != state || known.committed != now || known.proposed != going) {
            boolean isHeld = !state.maximalIsr().containsAll(now.members()) || going != null && !state.maximalIsr().containsAll(going.members());
            known = new Held(state, now, going, isHeld);
            held = known;
        }
        return known.isHeld;
    }

    /**
     * The replicas that have to hold a record before acks=min.insync.replicas is acknowledged, the same object while nothing changes; null if any
     * that suffice may, as at level 1, and empty if none suffice and only the high watermark answers.
     */
    List<Integer> awaited(int minReplicas, int minRacks) {
        Electable now = committed;
        Electable going = proposed;
        if (now.isEmpty() && going == null && (!isInForce() || minReplicas <= 1 && minRacks <= 1)) {
            wait.note(true);
            return null;
        }
        Awaited known = awaited;
        BrokerRacks where = minRacks > 1 ? racks.brokerRacks() : null;
        if (known.committed != now || known.proposed != going || known.minReplicas != minReplicas || known.minRacks != minRacks || known.racks != where) {
            known = new Awaited(now, going, minReplicas, minRacks, where, members(now, going, minReplicas, minRacks));
            awaited = known;
        }
        wait.note(going == null && !known.members.isEmpty());
        return known.members;
    }

    /** See {@link ElectableWait}; 0 if this broker does not lead. */
    long waitMs() {
        return partition.log() == null ? 0 : wait.ms();
    }

    private List<Integer> members(Electable now, Electable going, int minReplicas, int minRacks) {
        List<Integer> leading = now.complete();
        boolean suffices = leading.contains(quorum.leader()) && leading.size() >= minReplicas && (minRacks <= 1 || racks.brokerRacks().span(leading) >= minRacks);
        if (!suffices || going != null && going.isEmpty())
            return List.of();
        TreeSet<Integer> both = new TreeSet<>(now.members());
        if (going != null)
            both.addAll(going.members());
        return List.copyOf(both);
    }

    /**
     * True if another set is to be proposed.
     *
     * @param answered what was acknowledged above the high watermark is below this: by acks=min.insync.replicas, or by a leader before
     */
    public boolean isChangeDue(int partitionEpoch, long answered, long nowMs) {
        PartitionState state = partition.state();
        Checked last = checked;
        if (last != null && last.state == state && nowMs >= last.atMs && nowMs < last.atMs + CHECK_MS)
            return false;
        if (!isActive() || isRefused(partitionEpoch) || proposed != null || isTooSoon(nowMs) || partition.log() == null)
            return false;
        boolean due = choice(state.isr(), answered, nowMs) != null;
        checked = due || !mayStay ? null : new Checked(state, nowMs);
        return due;
    }

    /** The rules, the racks or the settings of the log may be others: the set is looked at once more. */
    public void metadataChanged() {
        checked = null;
    }

    /** The set to be proposed with an ISR; null if it stays. Propose what it returns: it is awaited from now on. */
    public Electable proposal(Collection<Integer> isr, int partitionEpoch, long answered, long nowMs) {
        if (!isActive() || isRefused(partitionEpoch))
            return null;
        Electable chosen = choice(isr, answered, nowMs);
        if (chosen != null) {
            changedMs = nowMs;
            proposed = chosen;
        }
        return chosen;
    }

    private Electable choice(Collection<Integer> isr, long answered, long nowMs) {
        mayStay = false;
        UnifiedLog log = partition.log();
        if (log == null || !isInForce()) {
            wasAwaited = false;
            return null;
        }
        int minReplicas = partition.minReplicas(log);
        int minRacks = racks.effectiveQuorumRacks(partition.state());
        noteAwaited(nowMs);
        boolean isNeeded = (minReplicas > 1 || minRacks > 1) && wasAwaited && nowMs - awaitedMs < IDLE_MS;
        if (!isNeeded && log.highWatermark() >= answered) {
            if (!committed.isEmpty())
                return Electable.NONE;
            wasAwaited = quorum.isAwaited();
            // What is not noted from here on must not count as time that a follower takes
            if (!wasAwaited)
                delays.clear();
            return null;
        }
        if (!isNeeded && committed.isEmpty())
            return null;
        long complete = Math.max(answered, log.highWatermark());
        Assignment now = assignment;
        ElectableChoice choice = new ElectableChoice(quorum.leader(), committed, isr, now.replicas.isEmpty() ? 0 : now.replicas.get(0), now.removing,
            follower -> quorum.end(follower) >= complete, set -> suffices(set, minReplicas, minRacks), follower -> delays.delayMs(follower, nowMs));
        mayStay = choice.mayStay();
        return choice.best(nowMs - changedMs);
    }

    /** True if a set is large enough. One within what a reassignment leaves need not be in more racks, or larger, than that is. */
    private boolean suffices(Collection<Integer> set, int minReplicas, int minRacks) {
        Assignment now = assignment;
        int replicas = minReplicas;
        int span = minRacks;
        if (!now.removing.isEmpty() && now.staying().containsAll(set)) {
            replicas = Math.min(replicas, now.staying().size());
            span = Math.min(span, racks.brokerRacks().span(now.staying()));
        }
        return set.size() >= replicas && (span <= 1 || racks.brokerRacks().span(set) >= span);
    }
}
