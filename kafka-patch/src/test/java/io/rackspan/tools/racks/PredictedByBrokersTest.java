// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InconsistentReplicaConfigurationException;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.controller.PartitionChangeBuilder.Election;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogConfig;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.Loss;
import io.rackspan.prediction.Predictor;
import io.rackspan.prediction.Prediction;
import io.rackspan.prediction.Verdict;
import io.rackspan.cluster.ConsistencyGate;
import io.rackspan.cluster.RackSpan;
import io.rackspan.metadata.BrokerRacks;
import io.rackspan.metadata.EligibleSpan;
import io.rackspan.metadata.RackRules;
import io.rackspan.prediction.ClusterView.Broker;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Settings;
import io.rackspan.prediction.ClusterView.Topic;
import io.rackspan.prediction.ClusterView.Voter;
import io.rackspan.prediction.LeaderRule.Refusal;
import io.rackspan.protocol.Electable;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Predictions for random small clusters, held against the classes of controller and broker: brokers are fenced one after the other by
 * {@link PartitionChangeBuilder}, in random orders, and what is left is put to the gates of a leader. What happens to a record is
 * followed until all brokers are back: one that was acknowledged with acks=all, and of a partition with an electable set one that only its members have.
 */
final class PredictedByBrokersTest {

    private static final int CASES = 10_000;
    private static final int ORDERS = 4;
    private static final Uuid TOPIC_ID = Uuid.fromString("FbrrdcfiR-KC2CPSTHaJrg");

    private final Map<String, Integer> reached = new HashMap<>();

    /** One partition as the controller has it, which remembers whether a leader lacked the record. */
    private static final class Controller {

        private final ClusterView view;
        private final Topic topic;
        private final Set<Integer> active = new HashSet<>();
        private final Set<Integer> holders;

        /** Brokers that do not run, also while the controller does not know it yet. */
        private final Set<Integer> down;
        private PartitionRegistration state;
        private boolean lost = false;

        Controller(ClusterView view, Topic topic, Partition partition, Set<Integer> holders, Collection<Integer> down) {
            this.view = view;
            this.topic = topic;
            this.holders = new HashSet<>(holders);
            this.down = new HashSet<>(down);
            view.brokers().values().stream().filter(broker -> !broker.fenced()).forEach(broker -> active.add(broker.id()));
            Uuid[] directories = new Uuid[partition.replicas().size()];
            Arrays.fill(directories, DirectoryId.UNASSIGNED);
            state = new PartitionRegistration.Builder().setReplicas(Replicas.toArray(partition.replicas())).setDirectories(directories)
                .setIsr(Replicas.toArray(partition.isr())).setElr(Replicas.toArray(partition.elr())).setAddingReplicas(Replicas.toArray(partition.adding()))
                .setLeader(partition.leader()).setLeaderRecoveryState(LeaderRecoveryState.RECOVERED).setLeaderEpoch(5).setPartitionEpoch(5).build();
            replay(partition.electable());
        }

        private void replay(Electable electable) {
            state = state.merge(electable.intoChange(new PartitionChangeRecord().setTopicId(TOPIC_ID).setPartitionId(0)));
        }

        void fence(int broker) {
            active.remove(broker);
            change(Replicas.toList(Replicas.copyWithout(state.isr, broker)), List.of());
        }

        /** As on a registration after an unclean shutdown, and the unfencing. */
        void comeBack(int broker, boolean unclean) {
            if (unclean) {
                holders.remove(broker);
                change(Replicas.toList(Replicas.copyWithout(state.isr, broker)), List.of(broker));
                replay(state.electable.withUnclean(broker));
            }
            down.remove(broker);
            active.add(broker);
            change(Replicas.toList(state.isr), List.of());
        }

        private void change(List<Integer> isr, List<Integer> unclean) {
            Settings settings = view.settings(topic);
            PartitionChangeBuilder builder = new PartitionChangeBuilder(state, TOPIC_ID, 0, active::contains, MetadataVersion.latestProduction(),
                Math.min(settings.minReplicas(), topic.partitions().get(0).replicas().size()), view.elr())
                .setEligibleSpan(EligibleSpan.of(view.level(), settings.minRacks(), view::rackOf))
                .setTargetIsr(isr).setDefaultDirProvider(id -> DirectoryId.UNASSIGNED);
            if (settings.uncleanElection())
                builder.setElection(Election.UNCLEAN);
            if (!unclean.isEmpty())
                builder.setUncleanShutdownReplicas(unclean);
            builder.build().ifPresent(record -> state = state.merge((PartitionChangeRecord) record.message()));
            if (state.leader >= 0 && !down.contains(state.leader) && !holders.contains(state.leader))
                lost = true;
        }
    }

    private static final class Case {

        private final Random random;
        private final ClusterView view;
        private final Topic topic;
        private final Partition partition;
        private final Loss loss;

        Case(long seed) {
            random = new Random(seed);
            int level = List.of(0, 1, 2, 2).get(random.nextInt(4));
            boolean elr = level > 0 || random.nextBoolean();
            SortedMap<Integer, Broker> brokers = new TreeMap<>();
            int count = 2 + random.nextInt(5);
            int racks = 1 + random.nextInt(4);
            for (int id = 1; id <= count; id++)
                if (random.nextInt(20) > 0)
                    brokers.put(id, new Broker(id, random.nextInt(15) == 0 ? "" : String.valueOf((char) ('a' + random.nextInt(racks))), random.nextInt(6) == 0));
            Map<String, String> own = new HashMap<>(Map.of(Views.MIN_REPLICAS, String.valueOf(1 + random.nextInt(4))));
            if (random.nextBoolean())
                own.put(Views.MIN_RACKS, String.valueOf(1 + random.nextInt(3)));
            if (random.nextInt(4) == 0)
                own.put("min.insync.replicas.inconsistent.action", random.nextBoolean() ? "clamp" : "reject");
            if (random.nextInt(8) == 0)
                own.put("unclean.leader.election.enable", "true");
            List<Integer> replicas = new ArrayList<>();
            for (int id = 1; id <= count; id++)
                if (random.nextInt(3) > 0 || id == 1)
                    replicas.add(id);
            Collections.shuffle(replicas, random);
            String name = random.nextInt(6) == 0 ? "__consumer_offsets" : "t";
            List<Integer> adding = replicas.size() > 1 && random.nextInt(5) == 0 ? List.of(replicas.get(replicas.size() - 1)) : List.of();
            SortedMap<String, Topic> topics = new TreeMap<>();
            ClusterView bare = new ClusterView((short) level, elr, brokers, Map.of(), topics, List.of(new Voter(100, "x", true)));
            List<Integer> isr = replicas.stream().filter(id -> bare.isAlive(id) && random.nextInt(4) > 0 && (!adding.contains(id) || random.nextBoolean())).toList();
            Partition start = new Partition(0, isr.isEmpty() ? -1 : isr.get(random.nextInt(isr.size())), replicas, isr, List.of(), adding);
            Topic draft = new Topic(name, own, List.of(start));
            Settings settings = bare.settings(draft);
            boolean few = isr.size() < Math.min(settings.minReplicas(), replicas.size()) ||
                !EligibleSpan.of(bare.level(), settings.minRacks(), bare::rackOf).isMet(isr, EligibleSpan.original(replicas, adding));
            List<Integer> eligible = !elr || !few ? List.of() : replicas.stream()
                .filter(id -> !isr.contains(id) && !adding.contains(id) && brokers.containsKey(id) && random.nextBoolean())
                .filter(id -> (!isr.isEmpty() || !bare.isAlive(id))).toList();
            partition = level < 2 ? start.withElr(eligible) : withSet(start.withElr(eligible), bare);
            topic = new Topic(name, own, List.of(partition));
            topics.put(name, topic);
            view = bare;
            Set<Integer> lost = new TreeSet<>();
            if (random.nextBoolean())
                view.racksOf(List.of(1 + random.nextInt(count))).forEach(rack -> lost.addAll(view.brokersIn(List.of(rack))));
            else
                brokers.keySet().stream().filter(id -> random.nextInt(3) == 0).forEach(lost::add);
            loss = new Loss(new TreeSet<>(), new TreeSet<>(lost), random.nextBoolean());
        }

        /** With an electable set for most; for some one of which no member may lead, and no leader. */
        private Partition withSet(Partition bare, ClusterView brokers) {
            Electable set = Electable.of(bare.replicas().stream().filter(id -> id == bare.leader() || random.nextBoolean()).toList());
            boolean lacksLeader = bare.leader() < 0 || random.nextInt(6) == 0;
            for (int id : set.members())
                if (lacksLeader ? brokers.isAlive(id) || random.nextBoolean() : id != bare.leader() && random.nextInt(4) == 0)
                    set = set.withUnclean(id);
            Partition found = lacksLeader ? new Partition(0, -1, bare.replicas(), bare.isr(), bare.elr(), bare.adding()) : bare;
            return random.nextInt(4) == 0 || set.isEmpty() ? bare : found.withElectable(set);
        }

        private boolean hasSet() {
            return !partition.electable().isEmpty();
        }

        /** A partition that waits for a leader with unclean elections on would have had one; a reassignment that may end would have ended. */
        boolean isSteady() {
            boolean mayEnd = !partition.adding().isEmpty() && partition.isr().containsAll(partition.adding()) &&
                EligibleSpan.of(view.level(), view.settings(topic).minRacks(), view::rackOf).isMet(partition.isr(), partition.replicas());
            return !mayEnd && (partition.leader() >= 0 || !view.settings(topic).uncleanElection() && (hasSet() || !partition.elr().isEmpty()));
        }

        List<Integer> shuffled(Collection<Integer> brokers) {
            List<Integer> order = new ArrayList<>(brokers);
            Collections.shuffle(order, random);
            return order;
        }
    }

    @Test
    void predictionsAreWhatControllerAndLeaderDo() {
        for (long seed = 0; seed < CASES; seed++) {
            Case one = new Case(seed);
            if (!one.isSteady())
                continue;
            Prediction predicted = Predictor.predict(one.view, one.topic, one.partition, one.loss, Verdict.YES);
            boolean everLost = false;
            for (int order = 0; order < ORDERS; order++)
                everLost |= follow(one, predicted, "seed " + seed + ": " + predicted + " of " + one.partition + " in " + one.view + " without " + one.loss);
            count(predicted.safe() == Verdict.NO && !everLost ? "not safe, and nothing was lost" : "safe as predicted");
        }
        // Each answer was given often enough for a wrong one to be found
        for (String answer : List.of("refused NOT_ENOUGH_REPLICAS", "refused NOT_ENOUGH_RACKS", "refused INCONSISTENT_REPLICA_CONFIGURATION",
            "refused null", "no leader", "lost", "kept", "elected from a set", "no leader of a set", "set is lost"))
            assertTrue(reached.getOrDefault(answer, 0) > CASES / 100, answer + ": " + reached);
        assertTrue(reached.getOrDefault("not safe, and nothing was lost", 0) < CASES / 50, reached.toString());
    }

    private void count(String answer) {
        reached.merge(answer, 1, Integer::sum);
    }

    /** One order of what happens; true if the record was lost. */
    private boolean follow(Case one, Prediction predicted, String text) {
        Set<Integer> holders = new HashSet<>(one.hasSet() ? one.partition.electable().members() : one.partition.isr());
        if (one.hasSet())
            holders.removeAll(one.partition.electable().unclean());
        else
            holders.addAll(one.partition.elr());
        List<Integer> failing = one.shuffled(one.loss.brokers().stream().filter(one.view::isAlive).toList());
        Controller controller = new Controller(one.view, one.topic, one.partition, holders, failing);
        if (one.loss.unclean())
            controller.holders.removeAll(failing);
        failing.forEach(controller::fence);
        int leader = controller.state.leader;
        assertEquals(Verdict.of(leader >= 0), predicted.readable(), text);
        assertEquals(leader, predicted.leader(), text);
        if (leader >= 0) {
            assertEquals(new HashSet<>(Replicas.toList(controller.state.isr)), new HashSet<>(predicted.isr()), text);
            Refusal refusal = refusal(one, predicted.isr());
            assertEquals(refusal, predicted.refusal(), text);
            assertEquals(Verdict.of(refusal == null), predicted.writable(), text);
            assertEquals(Verdict.of(movesHighWatermark(one, predicted.isr())), predicted.visible(), text);
            count("refused " + refusal);
        } else {
            assertEquals(Verdict.NO, predicted.writable(), text);
            count("no leader");
        }
        boolean unclean = leader >= 0 && !holders.contains(leader);
        assertEquals(Verdict.of(leader >= 0 && !unclean), predicted.electable(), text);
        List<Integer> returning = one.shuffled(one.view.brokers().keySet().stream().filter(id -> !controller.active.contains(id)).toList());
        returning.forEach(id -> controller.comeBack(id, one.loss.unclean() && one.loss.has(id)));
        if (predicted.safe() == Verdict.YES || predicted.safeFew() == Verdict.YES)
            assertTrue(!controller.lost, text);
        if (one.hasSet())
            count(leader < 0 ? "no leader of a set" : leader != one.partition.leader() ? "elected from a set" : "the leader of a set stays");
        if (controller.state.electable.isLost())
            count("set is lost");
        count(controller.lost ? "lost" : "kept");
        return controller.lost;
    }

    private static Refusal refusal(Case one, List<Integer> isr) {
        List<Integer> replicas = one.partition.replicas();
        TopicPartition partition = new TopicPartition(one.topic.name(), 0);
        BrokerRacks racks = racks(one.view);
        RackSpan span = new RackSpan(partition, () -> racks);
        Settings settings = one.view.settings(one.topic);
        Properties own = new Properties();
        own.putAll(one.topic.own());
        LogConfig config = LogConfig.fromProps(Map.of(), own);
        RackRules rules = rules(one);
        try {
            ConsistencyGate.checkAppend(partition, config, rules, replicas, span);
            if (isr.size() < Math.min(config.minInSyncReplicas, replicas.size()))
                return Refusal.NOT_ENOUGH_REPLICAS;
            assertEquals(settings.minRacks(), rules.minRacks(one.topic.name()));
            // The same question as before an append, which logs each refusal
            Errors error = span.checkAfterAppend(rules.minRacks(one.topic.name()), isr, EligibleSpan.original(replicas, one.partition.adding()), AppendOrigin.CLIENT);
            return error == Errors.NONE ? null : Refusal.NOT_ENOUGH_RACKS;
        } catch (InconsistentReplicaConfigurationException e) {
            return Refusal.INCONSISTENT_REPLICA_CONFIGURATION;
        }
    }

    private static boolean movesHighWatermark(Case one, List<Integer> isr) {
        BrokerRacks racks = racks(one.view);
        RackSpan span = new RackSpan(new TopicPartition(one.topic.name(), 0), () -> racks);
        return isr.size() >= Math.min(one.view.settings(one.topic).minReplicas(), one.partition.replicas().size()) &&
            !span.holdsHighWatermark(rules(one).minRacks(one.topic.name()), isr, EligibleSpan.original(one.partition.replicas(), one.partition.adding()));
    }

    private static BrokerRacks racks(ClusterView view) {
        Map<Integer, String> racks = new HashMap<>();
        view.brokers().values().forEach(broker -> racks.put(broker.id(), broker.rack()));
        return BrokerRacks.of(racks);
    }

    private static RackRules rules(Case one) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        delta.replay(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME).setFeatureLevel(MetadataVersion.latestProduction().featureLevel()));
        delta.replay(new FeatureLevelRecord().setName("rackspan.version").setFeatureLevel(one.view.level()));
        one.topic.own().forEach((name, value) -> delta.replay(new ConfigRecord().setResourceType(ConfigResource.Type.TOPIC.id())
            .setResourceName(one.topic.name()).setName(name).setValue(value)));
        MetadataImage image = delta.apply(MetadataProvenance.EMPTY);
        return Optional.of(RackRules.NONE.updated(image.features(), image.configs())).orElseThrow();
    }
}
