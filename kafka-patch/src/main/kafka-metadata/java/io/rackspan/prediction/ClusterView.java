// SPDX-License-Identifier: Apache-2.0
package io.rackspan.prediction;

import org.apache.kafka.common.config.TopicConfig;

import io.rackspan.metadata.InternalTopics;
import io.rackspan.metadata.LevelSettings;
import io.rackspan.metadata.RackRules;
import io.rackspan.protocol.Electable;
import io.rackspan.protocol.Ledger;
import io.rackspan.protocol.Racks;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * A cluster as its metadata has it at one moment: all that predictions go by. Immutable.
 *
 * @param level    the level of rackspan.version
 * @param elr      true if replicas that left the ISR may stay eligible as leaders (eligible.leader.replicas.version)
 * @param brokers  the registered brokers by id
 * @param defaults the values of {@link #SETTINGS} that count for topics without one of their own
 * @param topics   the topics by name
 * @param voters   the voters of the controllers' quorum
 */
public record ClusterView(short level, boolean elr, SortedMap<Integer, Broker> brokers, Map<String, String> defaults,
                   SortedMap<String, Topic> topics, List<Voter> voters) {

    /** The settings of a topic that predictions go by. */
    public static final Set<String> SETTINGS = Set.of(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, LevelSettings.MIN_RACKS, LevelSettings.ACTION,
        TopicConfig.ACKS_ALL_SCOPE_CONFIG, TopicConfig.UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG);

    /** A registered broker; `rack` is {@link Racks#UNNAMED} for one without broker.rack. */
    public record Broker(int id, String rack, boolean fenced) { }

    /** A voter; `rack` is null if it is not known. `alive` if it follows the leader of the quorum, or is it. */
    public record Voter(int id, String rack, boolean alive) { }

    /** A topic with the values of {@link #SETTINGS} that it has of its own. */
    public record Topic(String name, Map<String, String> own, List<Partition> partitions) {

        /** The number of replicas of partition 0, which the controller goes by for all; those of `otherwise` if there is no such partition. */
        public int replicasOfFirst(Partition otherwise) {
            return partitions.stream().filter(p -> p.index == 0).findFirst().orElse(otherwise).replicas.size();
        }
    }

    /** A partition; `leader` is -1 if there is none, `adding` are those of `replicas` that a reassignment adds. */
    public record Partition(int index, int leader, List<Integer> replicas, List<Integer> isr, List<Integer> elr, List<Integer> adding, Ledger ledger,
                            Electable electable) {

        public Partition(int index, int leader, List<Integer> replicas, List<Integer> isr, List<Integer> elr, List<Integer> adding) {
            this(index, leader, replicas, isr, elr, adding, Ledger.EMPTY, Electable.NONE);
        }

        public Partition withIsr(List<Integer> other) {
            return new Partition(index, leader, replicas, other, elr, adding, ledger, electable);
        }

        public Partition withElr(List<Integer> other) {
            return new Partition(index, leader, replicas, isr, other, adding, ledger, electable);
        }

        public Partition withElectable(Electable other) {
            return new Partition(index, leader, replicas, isr, elr, adding, ledger, other);
        }

        /** True if the partition has an electable set of which no member may lead now. */
        public boolean lacksElectable() {
            return !electable.isEmpty() && leader < 0;
        }
    }

    /** What counts of the settings of one topic. */
    public record Settings(int minReplicas, int minRacks, boolean clamped, boolean quorumScope, boolean uncleanElection) { }

    public Settings settings(Topic topic) {
        Map<String, String> values = new HashMap<>(defaults);
        values.putAll(topic.own);
        boolean quorum = level > 0 && !InternalTopics.contains(topic.name) &&
            LevelSettings.needsLevel(TopicConfig.ACKS_ALL_SCOPE_CONFIG, values.get(TopicConfig.ACKS_ALL_SCOPE_CONFIG));
        return new Settings(
            Integer.parseInt(values.getOrDefault(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "1").trim()),
            RackRules.minRacks(level, topic.own, defaults),
            level == 0 || LevelSettings.isClamped(topic.own.get(LevelSettings.ACTION), defaults.get(LevelSettings.ACTION)),
            quorum,
            Boolean.parseBoolean(values.getOrDefault(TopicConfig.UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG, "false").trim()));
    }

    /** The rack of a broker; null if it is not registered, so that it is in no rack. */
    public String rackOf(int broker) {
        Broker registered = brokers.get(broker);
        return registered == null ? null : registered.rack;
    }

    public boolean isAlive(int broker) {
        Broker registered = brokers.get(broker);
        return registered != null && !registered.fenced;
    }

    public int span(Collection<Integer> replicas) {
        return Racks.span(replicas, this::rackOf);
    }

    public SortedSet<String> racksOf(Collection<Integer> replicas) {
        SortedSet<String> found = new TreeSet<>();
        for (int replica : replicas)
            if (rackOf(replica) != null)
                found.add(rackOf(replica));
        return found;
    }

    /** The racks that registered brokers are in. */
    public SortedSet<String> racks() {
        return racksOf(brokers.keySet());
    }

    /** The registered brokers of these racks. */
    public SortedSet<Integer> brokersIn(Collection<String> racks) {
        SortedSet<Integer> found = new TreeSet<>();
        for (Broker broker : brokers.values())
            if (racks.contains(broker.rack))
                found.add(broker.id);
        return found;
    }

    public ClusterView withTopics(SortedMap<String, Topic> others) {
        return new ClusterView(level, elr, brokers, defaults, others, voters);
    }
}
