// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.utils.MockTime;
import org.apache.kafka.controller.SimulatedController;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;

import io.rackspan.common.Degrade;
import io.rackspan.metadata.EligibleSpan;
import io.rackspan.protocol.Electable;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/** A cluster at one moment of a history: controller, brokers, what is under way, and what was promised. */
final class World {

    final Setup setup;
    final MockTime time = new MockTime(0, 1_000_000, 0);
    final MetadataLog metadata = new MetadataLog();
    final Network network = new Network();
    final FaultBudget budget = new FaultBudget();
    final SimulatedController controller;
    final List<Broker> brokers = new ArrayList<>();
    final Guarantee guarantee;
    /** The minimums that are in force for who has all metadata. */
    Settings settings;
    /** The topic's own min.insync.racks; 0 if it has none. */
    private int topicRacks;
    /** The topic's own value that a degrade lowers; null if none does. */
    private Integer degradedFrom;
    /** The cluster default of it. */
    private int defaultRacks = 1;

    private final Set<Rule> broken;
    private final List<String> story;
    private int records = 0;

    /** @param story gets what happens in words; null for nobody */
    World(Setup setup, Set<Rule> broken, List<String> story) {
        this.setup = setup;
        this.broken = broken;
        this.story = story;
        settings = new Settings(setup.minReplicas(), setup.level() == 0 ? 1 : setup.minRacks());
        topicRacks = settings.minRacks() == 1 ? 0 : settings.minRacks();
        controller = new SimulatedController(time, setup.level(), isBroken(Rule.STATIC_IMPORTED) ? 1 : setup.staticRacks(), metadata::append);
        guarantee = new Guarantee(this, setup.brokers());
        ControllerKnockout.apply(this);
        for (int id = 1; id <= setup.brokers(); id++) {
            Broker broker = new Broker(this, id, setup.rackOf(id), setup.stock().contains(id));
            brokers.add(broker);
            broker.start();
            broker.heartbeat();
        }
        controller.createTopic(setup.replicas(), settings.asConfig());
        brokers.forEach(broker -> broker.catchUp(metadata.end()));
        noteComplete();
    }

    boolean isBroken(Rule rule) {
        return broken.contains(rule);
    }

    Broker broker(int id) {
        return brokers.get(id - 1);
    }

    int nextRecord() {
        return records++;
    }

    void say(Supplier<String> line) {
        if (story != null)
            story.add(line.get());
    }

    List<Integer> isr() {
        return Replicas.toList(controller.partition().isr);
    }

    List<Integer> replicas() {
        return Replicas.toList(controller.partition().replicas);
    }

    /** The number of racks that brokers really are in. */
    private int places(List<Integer> ids) {
        return (int) ids.stream().map(id -> broker(id).place).distinct().count();
    }

    /** Sets the topic's minimums; racks 0 leaves the cluster default. Returns false, and changes nothing, if the level forbids it. */
    boolean set(int minReplicas, int minRacks) {
        if (minRacks != topicRacks && !controller.setting(TopicConfig.MIN_IN_SYNC_RACKS_CONFIG, minRacks == 0 ? null : "" + minRacks))
            return false;
        if (minRacks != topicRacks)
            degradedFrom = null;
        topicRacks = minRacks;
        if (minReplicas != settings.minReplicas() && !controller.setting(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "" + minReplicas))
            throw new IllegalStateException("min.insync.replicas=" + minReplicas + " was refused");
        noteSettings(minReplicas);
        return true;
    }

    /** Lowers the topic's minimum of racks for a time. Returns false, and changes nothing, if that is refused. */
    boolean degrade(int minRacks) {
        if (controller.level() == 0 || !controller.setting(Degrade.NAME, "to=" + minRacks + ",for=7d,reason=a test"))
            return false;
        if (degradedFrom == null)
            degradedFrom = topicRacks;
        topicRacks = minRacks;
        noteSettings(settings.minReplicas());
        return true;
    }

    /** The minimum of racks without the degrade that is in force; null if there is none. */
    Integer degradedFrom() {
        return degradedFrom == null ? null : degradedFrom == 0 ? Integer.valueOf(defaultRacks) : degradedFrom;
    }

    /** Ends the degrade. */
    boolean restore() {
        if (!controller.setting(Degrade.NAME, null))
            return false;
        topicRacks = degradedFrom;
        degradedFrom = null;
        noteSettings(settings.minReplicas());
        return true;
    }

    /** Raises the level of rackspan.version. Returns the refusal, which is empty if there is none. */
    String raise(int level) {
        boolean imports = controller.level() == 0;
        String refusal = controller.setLevel(level);
        if (!refusal.isEmpty() && isBroken(Rule.RAISE_REFUSED)) {
            controller.forceLevel(level, setup.staticRacks());
            refusal = "";
        }
        // The value that the controllers have in their server.properties counts once
        if (refusal.isEmpty() && imports)
            defaultRacks = Math.max(defaultRacks, setup.staticRacks());
        noteSettings(settings.minReplicas());
        return refusal;
    }

    /** Removes what the level puts in force, and lowers it to 0. Returns the refusal, which is empty if there is none. */
    String lower() {
        controller.setting(TopicConfig.MIN_IN_SYNC_RACKS_CONFIG, null);
        controller.removeClusterDefault();
        degradedFrom = null;
        topicRacks = 0;
        defaultRacks = 1;
        String refusal = controller.setLevel(0);
        if (!refusal.isEmpty() && isBroken(Rule.LOWER_REFUSED)) {
            controller.forceLevel(0, 1);
            refusal = "";
        }
        noteSettings(settings.minReplicas());
        return refusal;
    }

    /** Lowers the level from 2 to 1, where all settings stay. Returns the refusal, which is empty if there is none. */
    String lowerBelowElectable() {
        return controller.setLevel(1);
    }

    private void noteSettings(int minReplicas) {
        settings = new Settings(minReplicas, controller.level() == 0 ? 1 : topicRacks > 0 ? topicRacks : defaultRacks);
        noteMinimums();
    }

    /** Every broker that runs has the metadata of now. */
    void publishAll() {
        for (Broker broker : brokers)
            while (broker.isRunning() && !broker.hasAllMetadata())
                broker.catchUp(metadata.end());
    }

    /** Notes in the budget which minimums are in force now, and which ones are when the reassignment ends. */
    void noteMinimums() {
        noteMinimums(original());
        noteMinimums(Replicas.toList(Replicas.copyWithout(controller.partition().replicas, controller.partition().removingReplicas)));
    }

    private void noteMinimums(List<Integer> replicas) {
        budget.minimums(Math.min(settings.minReplicas(), replicas.size()), Math.min(settings.minRacks(), places(replicas)));
    }

    /** True if these minimums, too, promise that what was destroyed loses nothing. */
    boolean survives(int minReplicas, int minRacks) {
        List<Integer> original = original();
        return budget.allows(Math.min(minReplicas, original.size()), Math.min(minRacks, places(original)));
    }

    /** True if the replicas that a reassignment adds are not needed. */
    boolean isCancelledWithoutLoss() {
        List<Integer> original = original();
        PartitionRegistration now = controller.partition();
        List<Integer> left = Replicas.toList(now.isr).stream().filter(original::contains).toList();
        return left.size() >= Math.min(settings.minReplicas(), original.size()) ||
            left.size() == now.isr.length && original.containsAll(Replicas.toList(now.elr));
    }

    private List<Integer> original() {
        PartitionRegistration now = controller.partition();
        return EligibleSpan.original(Replicas.toList(now.replicas), Replicas.toList(now.addingReplicas));
    }

    /** True if every replica has everything, and everybody knows. */
    boolean isComplete() {
        PartitionRegistration now = controller.partition();
        if (now.leader < 0 || now.isr.length < now.replicas.length || now.elr.length > 0 || now.addingReplicas.length + now.removingReplicas.length > 0 ||
                !network.isEmpty())
            return false;
        if (!isSufficient(now.electable))
            return false;
        Broker leader = broker(now.leader);
        for (Broker broker : brokers)
            if (!broker.isRegistered() || !broker.hasAllMetadata() || controller.registration(broker.id).fenced())
                return false;
        if (!leader.leads() || leader.partition().partitionState().isInflight())
            return false;
        for (int id : now.replicas)
            if (!broker(id).disk.entries.equals(leader.disk.entries))
                return false;
        return leader.partition().memory().highWatermark() == leader.disk.entries.size();
    }

    /** True if there is no electable set, or all of it may lead, and it is as large and in as many racks as the minimums require now. */
    private boolean isSufficient(Electable set) {
        return set.isEmpty() || set.unclean().isEmpty() && set.members().size() >= Math.min(settings.minReplicas(), replicas().size()) &&
            places(set.members()) >= Math.min(settings.minRacks(), places(replicas()));
    }

    void noteComplete() {
        Map<Integer, String> places = new HashMap<>();
        brokers.forEach(broker -> places.put(broker.id, broker.place));
        budget.complete(places, Integer.MAX_VALUE, Integer.MAX_VALUE);
        noteMinimums();
    }

    String state() {
        PartitionRegistration now = controller.partition();
        StringBuilder text = new StringBuilder("leader " + now.leader + " in epoch " + now.leaderEpoch + ", ISR " + Replicas.toList(now.isr) + ", eligible " +
            Replicas.toList(now.elr) + (now.electable.isEmpty() ? "" : ", electable set " + now.electable));
        if (now.addingReplicas.length + now.removingReplicas.length > 0)
            text.append(", replicas ").append(Replicas.toList(now.replicas)).append(" with added ").append(Replicas.toList(now.addingReplicas))
                .append(" and removed ").append(Replicas.toList(now.removingReplicas));
        for (Broker broker : brokers)
            text.append("; ").append(broker.id).append(broker.isRunning() ? " " : " down ").append(
                broker.disk.entries.stream().map(entry -> "" + entry.record()).toList());
        return text.toString();
    }
}
