// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** What each kind of step does. */
final class Actions {

    private final World world;

    Actions(World world) {
        this.world = world;
    }

    /** Acts. Returns what has happened, in words, or null if nothing has. */
    String act(Step step) {
        Broker broker = world.broker(step.broker());
        int choice = step.choice();
        return switch (step.kind()) {
            case PRODUCE -> produce(broker, Writes.ALL);
            case PRODUCE_QUORUM -> produce(broker, Writes.QUORUM);
            case PRODUCE_ONE -> produce(broker, 1);
            case PRODUCE_PREEMPTED -> producePreempted(broker);
            case RESUME -> broker.isRunning() && broker.writes.resume() ? "preempted threads of " + broker.id + " continue" : null;
            case FETCH -> broker.fetcher.fetch(choice) ? broker.id + " fetches" : null;
            case SEND_FETCH -> broker.fetcher.send(choice) ? broker.id + " sends a fetch" : null;
            case DELIVER -> named("arrives: ", world.network.deliver(choice));
            case DELIVER_PROMPT -> prompt(world.network.deliverPrompt());
            case LOSE -> named("is lost: ", world.network.lose(choice));
            case CONSUME -> consume(broker);
            case METADATA -> metadata(broker, choice);
            case HALF_METADATA -> half(broker, choice);
            case HEARTBEAT -> heartbeat(broker);
            case TIME -> time(choice);
            case CHECK_ISR -> checkIsr(broker);
            case FLUSH -> flush(broker);
            case PREFERRED -> elect();
            case CALM -> calm();
            case START -> start(broker);
            case STOP -> stop(broker);
            case SHUTDOWN -> shutdown(broker);
            case KILL -> destroy(Set.of(broker.id), choice, false);
            case POWER_CUT -> destroy(Set.of(broker.id), choice, true);
            case RACK_POWER_CUT -> destroy(inPlace(broker.place), choice, true);
            case DISK_FAILURE -> failDisk(broker, choice);
            case FENCE -> fence(broker);
            case MIN_REPLICAS -> change(1 + choice % 3, world.settings.minRacks());
            case MIN_RACKS -> change(world.settings.minReplicas(), 1 + choice % 3);
            case LATE_MINIMUMS -> isWithoutLoss() ? set(1 + choice % 3, 1 + (choice >> 4) % 3) : null;
            case OUTAGE_MINIMUMS -> set(1 + choice % 3, 1 + (choice >> 4) % 3);
            case DEGRADE -> world.settings.minRacks() < 2 ? null : change(() -> world.degrade(1 + choice % (world.settings.minRacks() - 1)),
                1 + choice % (world.settings.minRacks() - 1));
            case RESTORE -> world.degradedFrom() == null ? null : change(world::restore, world.degradedFrom());
            case RAISE -> raise(choice);
            case LOWER -> world.controller.level() == 2 && choice % 2 == 0 ? lowerBelowElectable() : lower();
            case REPLACE -> replace(broker);
            case REASSIGN -> isReassigning() ? null : reassign(choice, false);
            case REASSIGN_AGAIN -> reassign(choice, false);
            case REASSIGN_BACK -> isReassigning() ? null : reassign(choice, true);
            case CANCEL -> cancel();
            case RELABEL -> relabel(broker, List.of("a", "b", "c").get(choice % 3), false);
            case UNLABEL -> relabel(broker, broker.place, true);
        };
    }

    private static String prompt(int messages) {
        return messages == 0 ? null : "messages that arrive: " + messages;
    }

    private static String named(String what, String message) {
        return message == null ? null : what + message;
    }

    /** Clients mostly know who leads. */
    private Broker target(Broker broker) {
        if (broker.leads())
            return broker;
        for (Broker other : world.brokers)
            if (other.leads() && other.id == world.controller.partition().leader)
                return other;
        return null;
    }

    private String produce(Broker broker, int acks) {
        Broker leader = target(broker);
        if (leader == null)
            return null;
        int record = world.nextRecord();
        String answer = leader.writes.produce(record, acks);
        return "record " + record + " to " + leader.id + " with acks=" + (acks == Writes.ALL ? "all" : acks) + ": " + answer;
    }

    private String producePreempted(Broker broker) {
        Broker leader = target(broker);
        if (leader == null)
            return null;
        int record = world.nextRecord();
        return "record " + record + " to " + leader.id + " with acks=" + Writes.QUORUM + ": " + leader.writes.producePreempted(record, Writes.QUORUM);
    }

    private String consume(Broker broker) {
        Broker leader = target(broker);
        if (leader == null)
            return null;
        world.guarantee.consume(leader);
        return "a consumer reads from " + leader.id + " up to " + leader.partition().memory().highWatermark();
    }

    private int to(Broker broker, int choice) {
        int behind = world.metadata.end() - broker.position();
        return broker.position() + (choice % 2 == 0 ? behind : Math.min(behind, 1 + (choice >> 1) % 2));
    }

    private String metadata(Broker broker, int choice) {
        if (!broker.isRunning() || broker.hasAllMetadata())
            return null;
        broker.catchUp(to(broker, choice));
        return broker.id + " applies metadata up to " + broker.position() + " of " + world.metadata.end();
    }

    private String half(Broker broker, int choice) {
        if (!broker.isRunning() || broker.hasAllMetadata() || broker.isHalf())
            return null;
        broker.publishCache(to(broker, choice));
        return broker.id + " publishes metadata up to " + broker.position() + " to its cache only";
    }

    private String heartbeat(Broker broker) {
        if (!broker.isRunning())
            return null;
        int before = world.metadata.end();
        broker.heartbeat();
        return before == world.metadata.end() ? null : "heartbeat of " + broker.id;
    }

    private String time(int choice) {
        world.time.sleep(1_000 + choice % 8_000);
        return 1_000 + choice % 8_000 + " ms pass";
    }

    private String checkIsr(Broker broker) {
        Broker leader = target(broker);
        if (leader == null)
            return null;
        boolean before = leader.partition().partitionState().isInflight();
        ElectableKnockout.proposing(world, leader.partition(), leader.id, () -> {
            leader.partition().maybeShrinkIsr();
            return null;
        });
        leader.writes.moveHighWatermark();
        return before || !leader.partition().partitionState().isInflight() ? null : leader.id + " proposes to remove who lags";
    }

    private static String flush(Broker broker) {
        if (!broker.isRunning() || broker.partition() == null)
            return null;
        broker.flush();
        return broker.id + " flushes its log";
    }

    private String elect() {
        int before = world.metadata.end();
        world.controller.electPreferredLeader();
        return before == world.metadata.end() ? null : "preferred leader election";
    }

    private String calm() {
        return Healing.heal(world) ? "all is repaired" : "what is down is started, the cluster is not complete";
    }

    private static String start(Broker broker) {
        if (broker.isRunning())
            return null;
        return broker.id + (broker.start() ? " starts in rack " + broker.rack : " cannot register");
    }

    private static String stop(Broker broker) {
        if (!broker.isRunning() || broker.disk.failed)
            return null;
        broker.stop();
        return broker.id + " is shut down cleanly, without notice to the controller";
    }

    private static String shutdown(Broker broker) {
        if (!broker.isRunning() || broker.disk.failed)
            return null;
        broker.wantShutdown();
        return broker.id + " begins a controlled shutdown";
    }

    private Set<Integer> inPlace(String place) {
        Set<Integer> found = new HashSet<>();
        for (Broker broker : world.brokers)
            if (broker.place.equals(place))
                found.add(broker.id);
        return found;
    }

    private boolean mayDestroy(Set<Integer> brokers) {
        if (world.isComplete())
            world.noteComplete();
        return world.budget.take(brokers);
    }

    private String destroy(Set<Integer> brokers, int choice, boolean torn) {
        Set<Integer> found = new HashSet<>(brokers);
        // What is down since a clean stop loses nothing
        found.removeIf(id -> !world.broker(id).isRunning());
        if (found.isEmpty() || !mayDestroy(found))
            return null;
        for (int id : found) {
            Broker broker = world.broker(id);
            broker.end();
            if (torn)
                broker.disk.tear(choice);
        }
        return found + (torn ? " lose their power" : " are killed");
    }

    private String failDisk(Broker broker, int choice) {
        if (!broker.isRunning() || broker.disk.failed || !mayDestroy(Set.of(broker.id)))
            return null;
        broker.failDisk();
        broker.disk.tear(choice);
        return "the disk of " + broker.id + " fails";
    }

    private String fence(Broker broker) {
        int before = world.metadata.end();
        world.controller.expireSession(broker.id);
        return before == world.metadata.end() ? null : "the session of " + broker.id + " expires";
    }

    private boolean isWithoutLoss() {
        return world.isr().size() == world.replicas().size() && world.budget.isUntouched();
    }

    /**
     * A change of a minimum clears the eligible replicas of a partition with a leader, so that those in sync may be the only ones that have
     * all. Without a leader they stay.
     */
    private String change(int minReplicas, int minRacks) {
        return change(minReplicas, minRacks, () -> set(minReplicas, minRacks));
    }

    /** A degrade begins or ends, with this minimum of racks. */
    private String change(BooleanSupplier how, int minRacks) {
        return change(world.settings.minReplicas(), minRacks, () -> how.getAsBoolean() ? "by a degrade the topic gets " + world.settings : null);
    }

    private String change(int minReplicas, int minRacks, Supplier<String> how) {
        int leader = world.controller.partition().leader;
        // Lower minimums promise less for what was destroyed under higher ones
        boolean led = leader < 0 ? world.controller.level() > 0 : world.broker(leader).leads() && world.broker(leader).isRegistered();
        boolean possible = led && world.survives(minReplicas, minRacks);
        String changed = possible ? how.get() : null;
        if (changed != null) {
            if (!isWithoutLoss())
                world.budget.close();
            world.publishAll();
            if (world.isComplete())
                world.noteComplete();
        }
        return changed;
    }

    private String set(int minReplicas, int minRacks) {
        if (new Settings(minReplicas, minRacks).equals(world.settings) || !world.set(minReplicas, minRacks))
            return null;
        return "the topic gets " + world.settings;
    }

    private String raise(int choice) {
        int from = world.controller.level();
        if (from == 2 || from == 0 && !isWithoutLoss())
            return null;
        int to = from == 1 ? 2 : 1 + choice % 2;
        String refusal = world.raise(to);
        // From level 1 on the minimums stay, and each broker learns of the level when it suits the network
        if (from == 0)
            world.publishAll();
        return refusal.isEmpty() ? "rackspan.version is raised to " + to + ": " + world.settings : "rackspan.version is not raised. " + refusal;
    }

    private String lower() {
        boolean leaderless = world.controller.partition().leader < 0;
        if (world.controller.level() == 0 || !isWithoutLoss() && !(leaderless && world.survives(world.settings.minReplicas(), 1)))
            return null;
        if (!isWithoutLoss())
            world.budget.close();
        String refusal = world.lower();
        world.publishAll();
        return refusal.isEmpty() ? "rackspan.version is lowered to 0" : "rackspan.version is not lowered. " + refusal;
    }

    private String lowerBelowElectable() {
        String refusal = world.lowerBelowElectable();
        return refusal.isEmpty() ? "rackspan.version is lowered to 1" : "rackspan.version is not lowered. " + refusal;
    }

    /** The broker restarts from the other distribution. */
    private String replace(Broker broker) {
        if (broker.disk.failed || !broker.stock && world.controller.level() > 0 && broker.id % 2 == 0)
            return null;
        if (broker.isRunning())
            broker.stop();
        broker.stock = !broker.stock;
        boolean started = broker.start();
        return broker.id + " restarts from the " + (broker.stock ? "stock" : "rackspan") + " distribution" + (started ? "" : " and is refused");
    }

    private boolean isReassigning() {
        PartitionRegistration now = world.controller.partition();
        return now.addingReplicas.length + now.removingReplicas.length > 0;
    }

    private String reassign(int choice, boolean back) {
        if (!world.budget.isUntouched())
            return null;
        List<Integer> ids = new ArrayList<>();
        for (Broker broker : world.brokers)
            ids.add(broker.id);
        Collections.shuffle(ids, new Random(choice));
        List<Integer> target = ids.subList(0, 2 + choice % Math.min(4, ids.size() - 1));
        // At level 0 a replica that was removed may still be eligible
        if (!back && world.controller.level() == 0 && !Collections.disjoint(target, Replicas.toList(Replicas.copyWithout(world.controller.partition().elr, world.controller.partition().replicas))))
            return null;
        int before = world.metadata.end();
        world.controller.reassign(target);
        world.noteMinimums();
        return before == world.metadata.end() ? null : "reassignment to " + target;
    }

    private String cancel() {
        // The base leaves as few in sync as there are
        if (world.controller.level() == 0 && !world.isCancelledWithoutLoss())
            return null;
        int before = world.metadata.end();
        world.controller.reassign(List.of());
        return before == world.metadata.end() ? null : "the reassignment is cancelled";
    }

    /** The broker is carried to another rack, or loses its label, and restarts. */
    private String relabel(Broker broker, String place, boolean unlabelled) {
        if (!world.budget.isUntouched() || broker.disk.failed || !unlabelled && place.equals(broker.rack))
            return null;
        if (broker.isRunning())
            broker.stop();
        broker.place = place;
        broker.rack = unlabelled ? null : place;
        world.budget.moved(broker.id, place);
        world.noteMinimums();
        boolean started = broker.start();
        return broker.id + (started ? " restarts " : " is refused ") + (unlabelled ? "without a rack" : "in rack " + place);
    }
}
