// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import org.apache.kafka.controller.SimulatedController;
import org.apache.kafka.image.ClusterImage;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.metadata.PartitionRegistration;

import io.rackspan.common.Degrade;
import io.rackspan.metadata.BrokerRacks;
import io.rackspan.protocol.Electable;
import io.rackspan.protocol.Ledger;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

/** What a cluster promises, checked after each step; written anew, with nothing of the code that is simulated but the count of racks. */
final class Guarantee {

    private record Promise(long offset, int record, Violation.Kind kind) { }

    /** A record that was acknowledged in fewer racks than promised before a degrade; an election may take it unless it is kept. */
    private record Degraded(long offset, int record, boolean isKept) { }

    private final World world;
    private final List<Promise> promised = new ArrayList<>();
    private final List<Degraded> degraded = new ArrayList<>();
    private final List<BitSet> holders = new ArrayList<>();
    /** The rack of each holder of a record when it stored it, by broker. */
    private final List<Map<Integer, String>> storedIn = new ArrayList<>();
    private final BitSet isAcknowledged = new BitSet();
    private final BitSet isPromised = new BitSet();
    private final BitSet isRead = new BitSet();
    /** Records that a high watermark passed without a degrade, with as many racks as were required then. */
    private final BitSet isCommitted = new BitSet();
    private final long[] mark;
    private final long[] markEpoch;
    private final int[] markProcess;
    /** The cluster that racks were counted in last, and its racks. */
    private ClusterImage cluster;
    private BrokerRacks racks;
    private Violation found;

    Guarantee(World world, int brokers) {
        this.world = world;
        mark = new long[brokers + 1];
        markEpoch = new long[brokers + 1];
        markProcess = new int[brokers + 1];
    }

    /** Remembers the first violation until the next check: the real classes may catch what is thrown in their midst. */
    private void violated(Violation.Kind kind, String text) {
        if (found == null)
            found = new Violation(kind, text);
    }

    /** The number of records that must not be lost. */
    int promised() {
        return promised.size();
    }

    /** Notes who has which records. */
    void holds(Broker broker) {
        for (Disk.Entry entry : broker.disk.entries) {
            while (holders.size() <= entry.record()) {
                holders.add(new BitSet());
                storedIn.add(new HashMap<>());
            }
            if (!holders.get(entry.record()).get(broker.id)) {
                holders.get(entry.record()).set(broker.id);
                storedIn.get(entry.record()).put(broker.id, label(broker));
            }
        }
    }

    private static String label(Broker broker) {
        return broker.rack == null ? BrokerRacks.UNNAMED : broker.rack;
    }

    /** The racks in which brokers stored a record, and those that they are in now: one that moves takes its disk along. */
    private Set<String> racksOf(int record) {
        Map<Integer, String> stored = storedIn.get(record);
        Set<String> places = new HashSet<>(stored.values());
        stored.keySet().forEach(id -> places.add(label(world.broker(id))));
        return places;
    }

    private int span(Broker leader, Collection<Integer> brokers) {
        ClusterImage now = leader.cache().currentImage().cluster();
        if (now != cluster) {
            cluster = now;
            racks = BrokerRacks.EMPTY.updated(now);
        }
        return racks.span(brokers);
    }

    /** The racks required; the smaller number while the metadata that changes it is being published. */
    private int racks(Broker leader) {
        int racks = leader.settings().minRacks();
        return leader.isHalf() ? Math.min(racks, Settings.of(leader.image()).minRacks()) : racks;
    }

    private int required(Broker leader) {
        return Math.min(leader.settings().minReplicas(), leader.partition().assignmentState().replicationFactor());
    }

    /** A write was appended. */
    void appended(Broker leader, int acks) {
        if (acks == 1)
            return;
        Collection<Integer> isr = leader.partition().partitionState().isr();
        Settings settings = leader.settings();
        if (isr.size() < required(leader) || span(leader, isr) < racks(leader))
            violated(Violation.Kind.APPENDED_UNDER_MINIMUM, "broker " + leader.id + " appended with ISR " + isr + " and " + settings);
    }

    /** A client got the answer that its record is safe. */
    void acknowledged(Broker leader, Writes.Waiting request) {
        Settings settings = leader.settings();
        Collection<Integer> isr = leader.partition().partitionState().isr();
        List<Integer> held = holders.get(request.record()).stream().boxed().toList();
        Collection<Integer> counted = request.acks() == Writes.QUORUM ? isr : leader.partition().partitionState().maximalIsr();
        if (counted.size() < required(leader) || span(leader, isr) < racks(leader))
            violated(Violation.Kind.ACKNOWLEDGED_UNDER_MINIMUM, "broker " + leader.id + " acknowledged record " + request.record() +
                " with ISR " + isr + " and " + settings);
        Set<String> places = racksOf(request.record());
        if (held.size() < required(leader) || Math.min(span(leader, held), places.size()) < racks(leader))
            violated(Violation.Kind.ACKNOWLEDGED_UNDER_MINIMUM, "broker " + leader.id + " acknowledged record " + request.record() +
                ", which only " + held + " ever had, in racks " + places + ", with " + settings);
        isAcknowledged.set(request.record());
        boolean isKept = request.acks() == Writes.ALL || keepsQuorum(leader);
        // What was replicated in all racks that the replicas are in before a degrade is in no range of it, nor what was committed before
        if (span(leader, held) < Math.min(promisedRacks(leader), span(leader, leader.original())) && !isCommitted.get(request.record()))
            degraded.add(new Degraded(request.offset(), request.record(), isKept));
        if (isKept && !isPromised.get(request.record())) {
            isPromised.set(request.record());
            promised.add(new Promise(request.offset(), request.record(), Violation.Kind.LOST));
        }
    }

    /** True if acks=min.insync.replicas promises no less than acks=all: from level 2 on, unless one replica is enough. */
    private boolean keepsQuorum(Broker leader) {
        return Settings.level(leader.cache().currentImage()) >= 2 && (required(leader) > 1 || racks(leader) > 1);
    }

    /** True if a client got the answer that this record is safe. */
    boolean isAcknowledged(int record) {
        return isAcknowledged.get(record);
    }

    /** The racks promised without the degrade that is in force; the smaller number while the metadata that changes it is being published. */
    private static int promisedRacks(Broker leader) {
        return Math.min(promisedRacks(leader.image()), promisedRacks(leader.cache().currentImage()));
    }

    private static Degrade degrade(MetadataImage image) {
        return Degrade.of(image.configs().configMapForResource(Settings.TOPIC).get(Degrade.NAME));
    }

    private static int promisedRacks(MetadataImage image) {
        Degrade degrade = degrade(image);
        if (degrade == null)
            return Settings.of(image).minRacks();
        return degrade.from().isEmpty() ? Settings.clusterDefault(image) : Integer.parseInt(degrade.from());
    }

    private void checkLedger() {
        for (Degraded one : degraded)
            if (world.controller.partition().ledger.ranges().stream().noneMatch(range -> range.from() <= one.offset && (range.isOpen() || one.offset < range.to())))
                violated(Violation.Kind.NOT_IN_LEDGER, "record " + one.record + " at offset " + one.offset + ", ledger " + world.controller.partition().ledger);
    }

    /**
     * Without a degrade, and with all records in all racks, no range is open, and each has reached its racks. One that ends beyond the log reaches them
     * when the log is as long: what it was made for was not acknowledged, or is lost by an election that may lose it.
     */
    void checkSettledLedger() {
        Ledger ledger = world.controller.partition().ledger;
        long end = world.broker(world.controller.partition().leader).partition().memory().highWatermark();
        if (world.degradedFrom() == null && ledger.ranges().stream().anyMatch(range -> range.isOpen() ||
            !range.isReached() && range.to() <= end && range.promised() <= places()))
            violated(Violation.Kind.LEDGER_UNSETTLED, ledger + ", " + world.state());
    }

    private int places() {
        return (int) world.replicas().stream().map(id -> world.broker(id).rack).distinct().count();
    }

    /** A consumer reads all that a broker lets it. */
    void consume(Broker broker) {
        long end = broker.partition().memory().highWatermark();
        for (int offset = 0; offset < end; offset++) {
            int record = broker.disk.entries.get(offset).record();
            if (!isRead.get(record)) {
                isRead.set(record);
                promised.add(new Promise(offset, record, Violation.Kind.READ_THEN_LOST));
            }
        }
    }

    /** Checks all that can be checked at any time. */
    void check() {
        checkAll();
        if (found != null)
            throw found;
    }

    /** All go by the minimums that were set, once they have the metadata. */
    private void checkSettings(Broker broker) {
        if (broker.isRunning() && broker.hasAllMetadata() && (!broker.settings().equals(world.settings) && broker.partition() != null ||
                !broker.stock && broker.cache().rackRules().minRacks(SimulatedController.TOPIC) != world.settings.minRacks()))
            violated(Violation.Kind.NOT_IN_FORCE, world.settings + " on broker " + broker.id + ", which has " + broker.settings());
    }

    private void checkAll() {
        world.brokers.forEach(this::checkSettings);
        for (Broker broker : world.brokers)
            if (broker.leads()) {
                checkHighWatermark(broker);
                checkWaiting(broker);
                PartitionRegistration now = world.controller.partition();
                if (now.leader == broker.id && now.leaderEpoch == broker.partition().getLeaderEpoch() && broker.isRegistered())
                    checkComplete(broker);
            } else if (!broker.writes.waiting().isEmpty())
                violated(Violation.Kind.NOT_ANSWERED, "broker " + broker.id + " leads no more and has " + broker.writes.waiting());
        checkLedger();
        checkElectable(world.controller.partition().electable);
    }

    /** Members of the electable set have all that is promised, but for those that are marked. Below level 2 there is no set. */
    private void checkElectable(Electable set) {
        if (!set.isEmpty() && world.controller.level() < 2)
            violated(Violation.Kind.NOT_ELECTABLE, "the electable set is " + set + " at level " + world.controller.level());
        for (int id : set.members()) {
            Broker member = world.broker(id);
            if (set.mayLead(id) && member.isRegistered() && member.partition() != null)
                for (Promise one : promised)
                    if (!has(member.disk.entries, one.offset, one.record))
                        violated(Violation.Kind.NOT_ELECTABLE, "broker " + id + " of the electable set " + set + " has no record " + one.record +
                            " at offset " + one.offset);
        }
    }

    private void checkComplete(Broker leader) {
        List<Disk.Entry> log = leader.disk.entries;
        // Below level 2 an election may take what was acknowledged with acks=min.insync.replicas; the new leader knows of none of it
        degraded.removeIf(one -> !one.isKept && !has(log, one.offset, one.record));
        for (Promise one : promised)
            if (!has(log, one.offset, one.record))
                violated(one.kind, "leader " + leader.id + " has no record " + one.record + " at offset " + one.offset + ", its log: " +
                    IntStream.range(0, log.size()).mapToObj(offset -> log.get(offset).record()).toList());
    }

    private static boolean has(List<Disk.Entry> log, long offset, int record) {
        return offset < log.size() && log.get((int) offset).record() == record;
    }

    private void checkHighWatermark(Broker leader) {
        int id = leader.id;
        long now = leader.partition().memory().highWatermark();
        if (markProcess[id] == leader.process() && markEpoch[id] == leader.partition().getLeaderEpoch()) {
            if (now < mark[id])
                violated(Violation.Kind.HIGH_WATERMARK_FELL, "on leader " + id + " from " + mark[id] + " to " + now);
            if (degrade(leader.image()) == null && degrade(leader.cache().currentImage()) == null)
                for (long offset = mark[id]; offset < now; offset++)
                    isCommitted.set(leader.disk.entries.get((int) offset).record());
        }
        markProcess[id] = leader.process();
        markEpoch[id] = leader.partition().getLeaderEpoch();
        mark[id] = now;
    }

    /** Nobody waits for what is there, or for what will not come. */
    private void checkWaiting(Broker leader) {
        if (leader.writes.waiting().isEmpty() || leader.isHalf())
            return;
        Collection<Integer> isr = leader.partition().partitionState().isr();
        if (leader.hasAllMetadata() && world.controller.partition().leader == leader.id)
            for (int id : isr)
                if (world.controller.registration(id).fenced())
                    violated(Violation.Kind.NOT_ANSWERED, leader.writes.waiting() + " on broker " + leader.id + " wait for broker " + id +
                        ", whose session has expired");
        boolean fewRacks = span(leader, isr) < racks(leader);
        for (Writes.Waiting request : leader.writes.waiting())
            if (fewRacks || leader.partition().memory().highWatermark() > request.offset())
                violated(Violation.Kind.NOT_ANSWERED, "record " + request.record() + " at offset " + request.offset() + " on broker " + leader.id +
                    ", high watermark " + leader.partition().memory().highWatermark() + ", ISR " + isr + ", " + leader.settings());
    }
}
