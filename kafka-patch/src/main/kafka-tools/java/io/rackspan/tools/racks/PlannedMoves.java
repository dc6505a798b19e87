// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Topic;
import io.rackspan.prediction.LeaderRule;
import io.rackspan.protocol.Electable;
import io.rackspan.tools.racks.Repair.Move;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/** A cluster as it would be once replicas have been moved. */
final class PlannedMoves {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private PlannedMoves() {
    }

    /** Reads a document of kafka-reassign-partitions.sh. Refuses one that this cluster would not complete now. */
    static List<Move> read(Path file, ClusterView view) throws UsageException {
        JsonNode entries = entries(file);
        List<Move> moves = new ArrayList<>();
        Set<String> named = new HashSet<>();
        for (JsonNode entry : entries) {
            JsonNode index = entry.path("partition");
            if (!entry.path("topic").isTextual() || !index.isInt() || !entry.path("replicas").isArray() || entry.path("replicas").isEmpty())
                throw refused(file, "entry " + entry + " lacks a topic, a partition or replicas");
            Topic topic = view.topics().get(entry.path("topic").textValue());
            String name = entry.path("topic").textValue() + "-" + index.intValue();
            if (topic == null || index.intValue() < 0 || index.intValue() >= topic.partitions().size())
                throw refused(file, name + " is not there");
            if (!named.add(name))
                throw refused(file, name + " is there twice");
            Partition partition = topic.partitions().get(index.intValue());
            Move move = new Move(topic.name(), partition.index(), partition.replicas(), replicas(file, name, entry.path("replicas"), view));
            Optional<String> inTheWay = inTheWay(view, partition, move);
            if (inTheWay.isPresent())
                throw refused(file, name + " would not be moved now: " + inTheWay.get());
            moves.add(move);
        }
        return moves;
    }

    private static JsonNode entries(Path file) throws UsageException {
        JsonNode document;
        try {
            document = MAPPER.readTree(file.toFile());
        } catch (JsonProcessingException e) {
            throw refused(file, "it is not JSON: " + e.getOriginalMessage());
        } catch (IOException e) {
            throw new UsageException("--reassignment: " + e.getMessage() + ".");
        }
        if (document.path("version").asInt(1) != 1 || !document.path("partitions").isArray())
            throw refused(file, "it is no reassignment of version 1, as kafka-reassign-partitions.sh takes it");
        return document.path("partitions");
    }

    private static List<Integer> replicas(Path file, String name, JsonNode listed, ClusterView view) throws UsageException {
        Set<Integer> replicas = new LinkedHashSet<>();
        for (JsonNode replica : listed) {
            if (!replica.isInt() || !view.brokers().containsKey(replica.intValue()))
                throw refused(file, name + ": broker " + replica + " is not registered. Brokers: " + view.brokers().keySet());
            if (!replicas.add(replica.intValue()))
                throw refused(file, name + ": broker " + replica + " is there twice");
        }
        return List.copyOf(replicas);
    }

    private static UsageException refused(Path file, String why) {
        return new UsageException("--reassignment " + file + ": " + why + ".");
    }

    /** What keeps a move from its end until it changes; empty if it ends as soon as what is new is copied. */
    private static Optional<String> inTheWay(ClusterView view, Partition partition, Move move) {
        if (!adding(partition, move).isEmpty() && partition.leader() < 0)
            return Optional.of("it has no leader to copy from");
        List<Integer> missing = inSync(partition, move).stream().filter(replica -> !partition.isr().contains(replica) && !view.isAlive(replica)).toList();
        return missing.isEmpty() ? Optional.empty() : Optional.of(missing + " would have to come into sync and do not run");
    }

    private static List<Integer> adding(Partition partition, Move move) {
        return move.after().stream().filter(replica -> !partition.replicas().contains(replica) || partition.adding().contains(replica)).toList();
    }

    /**
     * The in-sync replicas at the end of a move: those of now that stay, and those that are new. A move to fewer replicas ends only when all of
     * them are in sync.
     */
    private static List<Integer> inSync(Partition partition, Move move) {
        List<Integer> adding = adding(partition, move);
        long before = partition.replicas().size() - partition.adding().size();
        boolean fewer = move.after().size() < before;
        List<Integer> found = move.after().stream().filter(replica -> fewer || adding.contains(replica) || partition.isr().contains(replica)).toList();
        return found.isEmpty() ? move.after() : found;
    }

    /** The cluster once the moves are done. */
    static ClusterView apply(ClusterView view, List<Move> moves) {
        Map<String, Map<Integer, Move>> byTopic = new HashMap<>();
        moves.forEach(move -> byTopic.computeIfAbsent(move.topic(), name -> new HashMap<>()).put(move.partition(), move));
        SortedMap<String, Topic> topics = new TreeMap<>(view.topics());
        byTopic.forEach((name, moved) -> topics.computeIfPresent(name, (same, topic) -> new Topic(name, topic.own(), topic.partitions().stream()
            .map(partition -> moved.containsKey(partition.index()) ? moved(view, topic, partition, moved.get(partition.index())) : partition).toList())));
        return view.withTopics(topics);
    }

    private static Partition moved(ClusterView view, Topic topic, Partition partition, Move move) {
        List<Integer> isr = inSync(partition, move);
        List<Integer> elr = partition.elr().stream().filter(replica -> move.after().contains(replica) && !isr.contains(replica)).toList();
        Partition bare = new Partition(partition.index(), partition.leader(), move.after(), isr, elr, List.of());
        Electable electable = electable(view, topic, partition, bare);
        List<Integer> candidates = isr.stream().filter(view::isAlive).filter(replica -> electable.isEmpty() || electable.mayLead(replica)).toList();
        // A leader that is moved away hands over to a member of the set that stays
        int leader = isr.contains(partition.leader()) ? partition.leader() : candidates.stream().filter(partition.electable()::mayLead).findFirst()
            .orElse(candidates.isEmpty() ? -1 : candidates.get(0));
        return new Partition(partition.index(), leader, move.after(), isr, elr, List.of()).withElectable(electable);
    }

    /**
     * The electable set at the end of a move: that of now if it stays, or else what is left of it with as many in-sync replicas as it needs, in the
     * order of the assignment. The leader will choose the fastest.
     */
    private static Electable electable(ClusterView view, Topic topic, Partition before, Partition bare) {
        Electable now = before.electable();
        if (now.isEmpty() || bare.replicas().containsAll(now.members()))
            return now;
        LeaderRule rule = new LeaderRule(view, topic, bare);
        Set<Integer> members = new LinkedHashSet<>(now.members().stream().filter(replica -> now.mayLead(replica) && bare.isr().contains(replica)).toList());
        if (bare.isr().contains(bare.leader()))
            members.add(bare.leader());
        for (int replica : bare.isr())
            if (view.isAlive(replica) && !rule.isQuorum(members))
                members.add(replica);
        return Electable.of(members);
    }
}
