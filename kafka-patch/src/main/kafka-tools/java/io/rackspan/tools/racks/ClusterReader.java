// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConfigEntry.ConfigSource;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.FinalizedVersionRange;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.PartitionReassignment;
import org.apache.kafka.clients.admin.QuorumInfo;
import org.apache.kafka.clients.admin.QuorumInfo.ReplicaState;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.server.common.EligibleLeaderReplicasVersion;

import io.rackspan.prediction.ClusterView;
import io.rackspan.common.RackspanVersion;
import io.rackspan.protocol.DescribedPartition;
import io.rackspan.protocol.Racks;
import io.rackspan.prediction.ClusterView.Broker;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Topic;
import io.rackspan.prediction.ClusterView.Voter;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Reads a {@link ClusterView} through an admin client. What cannot be read ends it: nothing is guessed. */
final class ClusterReader {

    /** Voters fetch twice a second; one that has not for as long does not follow. */
    private static final long SILENT_MS = 5_000;

    /** Brokers read metadata all the time; the controller fences one that has not for 9 s, by default. */
    private static final long BEHIND_MS = 10_000;

    /** A response has all settings of each topic. */
    private static final int TOPICS_A_REQUEST = 500;

    /** The settings that a view has. */
    private static final Set<String> KEPT = Stream.concat(ClusterView.SETTINGS.stream(), StockSettings.UNKNOWN.stream()).collect(Collectors.toUnmodifiableSet());

    private final Admin admin;
    private final Map<Integer, String> controllerRacks;

    /** @param controllerRacks the racks of controllers, which metadata does not have */
    ClusterReader(Admin admin, Map<Integer, String> controllerRacks) {
        this.admin = admin;
        this.controllerRacks = controllerRacks;
    }

    ClusterView read() throws ExecutionException, InterruptedException {
        Map<String, FinalizedVersionRange> features = admin.describeFeatures().featureMetadata().get().finalizedFeatures();
        Map<TopicPartition, PartitionReassignment> moves = admin.listPartitionReassignments().reassignments().get();
        List<String> names = List.copyOf(admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get());
        Map<ConfigResource, KafkaFuture<Config>> requested = requestTopicConfigs(names); // answered while the partitions are read
        Map<String, TopicDescription> described = present(
            admin.describeTopics(TopicCollection.ofTopicNames(names), new DescribeTopicsOptions()).topicNameValues());
        // Behind the partitions: of a broker that dies meanwhile they may say that it is in sync, and this that it is fenced
        SortedMap<Integer, Broker> brokers = new TreeMap<>();
        for (Node node : admin.describeCluster(new DescribeClusterOptions().includeFencedBrokers(true)).nodes().get())
            brokers.put(node.id(), new Broker(node.id(), Racks.of(node), node.isFenced()));
        Map<ConfigResource, Config> configs = present(requested);
        short level = level(features, RackspanVersion.FEATURE_NAME);
        boolean elr = level(features, EligibleLeaderReplicasVersion.FEATURE_NAME) > 0;
        SortedMap<String, Topic> topics = new TreeMap<>();
        described.forEach((name, topic) -> {
            Config config = configs.get(new ConfigResource(ConfigResource.Type.TOPIC, name));
            if (config != null) // removed since
                topics.put(name, new Topic(name, values(config, ConfigSource.DYNAMIC_TOPIC_CONFIG), partitions(topic, moves)));
        });
        return new ClusterView(level, elr, brokers, defaults(brokers), topics, voters(brokers));
    }

    private static short level(Map<String, FinalizedVersionRange> features, String name) {
        FinalizedVersionRange range = features.get(name);
        return range == null ? 0 : range.maxVersionLevel();
    }

    private Map<ConfigResource, KafkaFuture<Config>> requestTopicConfigs(List<String> names) {
        Map<ConfigResource, KafkaFuture<Config>> requests = new HashMap<>();
        for (int from = 0; from < names.size(); from += TOPICS_A_REQUEST)
            requests.putAll(admin.describeConfigs(names.subList(from, Math.min(names.size(), from + TOPICS_A_REQUEST)).stream()
                .map(name -> new ConfigResource(ConfigResource.Type.TOPIC, name)).toList()).values());
        return requests;
    }

    /** The answers, without those for topics that were removed meanwhile. */
    private static <K, V> Map<K, V> present(Map<K, KafkaFuture<V>> answers) throws ExecutionException, InterruptedException {
        Map<K, V> found = new HashMap<>();
        for (Map.Entry<K, KafkaFuture<V>> answer : answers.entrySet()) {
            try {
                found.put(answer.getKey(), answer.getValue().get());
            } catch (ExecutionException e) {
                if (!(e.getCause() instanceof UnknownTopicOrPartitionException))
                    throw e;
            }
        }
        return found;
    }

    /** The values of {@link #KEPT} settings that come from this source. */
    static Map<String, String> values(Config config, ConfigSource source) {
        Map<String, String> found = new HashMap<>();
        for (ConfigEntry entry : config.entries())
            if (entry.source() == source && entry.value() != null && KEPT.contains(entry.name()))
                found.put(entry.name(), entry.value());
        return Map.copyOf(found);
    }

    private static List<Partition> partitions(TopicDescription topic, Map<TopicPartition, PartitionReassignment> moves) {
        List<Partition> found = new ArrayList<>();
        for (TopicPartitionInfo info : topic.partitions()) {
            PartitionReassignment move = moves.get(new TopicPartition(topic.name(), info.partition()));
            List<Integer> adding = move == null ? List.of() : List.copyOf(move.addingReplicas());
            int leader = info.leader() == null ? -1 : info.leader().id();
            found.add(new Partition(info.partition(), leader, ids(info.replicas()), ids(info.isr()), ids(info.elr()), adding,
                DescribedPartition.ledgerOf(info), DescribedPartition.electableOf(info)));
        }
        return List.copyOf(found);
    }

    private static List<Integer> ids(List<Node> nodes) {
        return nodes == null ? List.of() : nodes.stream().map(Node::id).toList();
    }

    /**
     * The values for topics without their own. Where a setting may differ between brokers the strictest of what they have counts: the
     * leader is not known before it is elected. Settings of this distribution count from the cluster default only.
     */
    private Map<String, String> defaults(SortedMap<Integer, Broker> brokers) throws ExecutionException, InterruptedException {
        ConfigResource cluster = new ConfigResource(ConfigResource.Type.BROKER, "");
        Map<String, String> found = new HashMap<>(values(admin.describeConfigs(List.of(cluster)).all().get().get(cluster), ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG));
        List<ConfigResource> alive = brokers.values().stream().filter(broker -> !broker.fenced())
            .map(broker -> new ConfigResource(ConfigResource.Type.BROKER, String.valueOf(broker.id()))).toList();
        int minReplicas = 1;
        boolean unclean = Boolean.parseBoolean(found.get(TopicConfig.UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG));
        for (Config config : admin.describeConfigs(alive).all().get().values()) {
            minReplicas = Math.max(minReplicas, Integer.parseInt(config.get(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG).value().trim()));
            unclean |= Boolean.parseBoolean(config.get(TopicConfig.UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG).value().trim());
        }
        found.put(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, String.valueOf(minReplicas));
        found.put(TopicConfig.UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG, String.valueOf(unclean));
        return Map.copyOf(found);
    }

    private List<Voter> voters(SortedMap<Integer, Broker> brokers) throws ExecutionException, InterruptedException {
        QuorumInfo quorum = admin.describeMetadataQuorum().quorumInfo().get();
        OptionalLong now = timestamp(quorum.voters(), quorum.leaderId(), ReplicaState::lastCaughtUpTimestamp);
        requireFresh(now, brokers.values().stream().filter(broker -> !broker.fenced()).map(Broker::id).collect(Collectors.toMap(id -> id,
            id -> timestamp(Stream.concat(quorum.voters().stream(), quorum.observers().stream()).toList(), id, ReplicaState::lastCaughtUpTimestamp))));
        List<Voter> found = new ArrayList<>();
        for (ReplicaState voter : quorum.voters()) {
            Broker combined = brokers.get(voter.replicaId());
            String rack = controllerRacks.getOrDefault(voter.replicaId(), combined == null ? null : combined.rack());
            found.add(new Voter(voter.replicaId(), rack, voter.replicaId() == quorum.leaderId() || isWithin(SILENT_MS, now, voter.lastFetchTimestamp())));
        }
        return List.copyOf(found);
    }

    private static OptionalLong timestamp(List<ReplicaState> replicas, int id, Function<ReplicaState, OptionalLong> which) {
        return replicas.stream().filter(replica -> replica.replicaId() == id).map(which).findFirst().orElse(OptionalLong.empty());
    }

    private static boolean isWithin(long ms, OptionalLong now, OptionalLong then) {
        return now.isPresent() && then.isPresent() && now.getAsLong() - then.getAsLong() < ms;
    }

    /**
     * Requires that brokers have the newest metadata: any of them may have answered. One that is cut off from the controllers shows a
     * cluster in which all is well.
     *
     * @param now    the present time of the quorum's leader
     * @param caught by broker, when it had last read all that there was
     */
    static void requireFresh(OptionalLong now, Map<Integer, OptionalLong> caught) {
        SortedSet<Integer> behind = new TreeSet<>();
        caught.forEach((broker, then) -> {
            if (!isWithin(BEHIND_MS, now, then))
                behind.add(broker);
        });
        if (!behind.isEmpty())
            throw new KafkaException("Brokers " + behind + " have not read the newest metadata for " + BEHIND_MS / 1000 + " s or more, and one of them may have answered");
    }
}
