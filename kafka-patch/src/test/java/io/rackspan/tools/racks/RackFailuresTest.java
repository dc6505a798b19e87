// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.RackFailures;
import io.rackspan.protocol.Electable;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Topic;
import io.rackspan.prediction.ClusterView.Voter;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

final class RackFailuresTest {

    private static RackFailures of(String racks, Map<String, String> own, Partition partition) {
        Topic topic = Views.topic("t", own, partition);
        return RackFailures.of(new RackFailures.Losses(Views.of(racks, topic)), topic, partition);
    }

    @Test
    void availabilityEndsWithTheSettingsAndDataWithTheLastReplica() {
        Partition spread = Views.partition(List.of(1, 2, 3));
        assertEquals(new RackFailures(1, 2), of("abc", Map.of(Views.MIN_REPLICAS, "2"), spread));
        assertEquals(new RackFailures(0, 2), of("abc", Map.of(Views.MIN_REPLICAS, "3"), spread));
        assertEquals(new RackFailures(2, 2), of("abc", Map.of(), spread));
        assertEquals(new RackFailures(0, 0), of("aab", Map.of(), Views.partition(List.of(1, 2))));
    }

    @Test
    void whatIsOutOfSyncIsNoHelp() {
        assertEquals(new RackFailures(0, 1), of("abc", Map.of(Views.MIN_REPLICAS, "2"), Views.partition(List.of(1, 2, 3), 1, 2)));
        assertEquals(new RackFailures(-1, 0), of("abc", Map.of(Views.MIN_REPLICAS, "2"), Views.partition(List.of(1, 2, 3), 1)));
    }

    @Test
    void theWorstChoiceOfRacksCounts() {
        Map<String, String> own = Map.of(Views.MIN_REPLICAS, "2", Views.MIN_RACKS, "2");
        assertEquals(new RackFailures(1, 2), of("aabbc", own, Views.partition(List.of(1, 2, 3, 4, 5))));
        assertEquals(new RackFailures(0, 1), of("aabbc", own, Views.partition(List.of(1, 2, 3, 4))));
    }

    /** One state of the losses knows partitions that are alike; each gets what it would get alone. */
    @Test
    void partitionsThatAreAlikeShareAnAnswerAndOthersDoNot() {
        Random random = new Random(1);
        List<String> layouts = List.of("abc", "aabbc", "aaBbCc", "abCabc", "aaab");
        Set<RackFailures> found = new HashSet<>();
        for (int cluster = 0; cluster < 60; cluster++) {
            String racks = layouts.get(cluster % layouts.size());
            List<Topic> topics = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                Map<String, String> own = Map.of(Views.MIN_REPLICAS, "" + (1 + random.nextInt(3)), Views.MIN_RACKS, "" + (1 + random.nextInt(3)),
                    "unclean.leader.election.enable", "" + random.nextBoolean());
                List<Partition> partitions = new ArrayList<>();
                for (int index = 0; index < 3; index++)
                    partitions.add(partition(random, racks.length(), index));
                topics.add(new Topic("t" + i, own, partitions));
            }
            ClusterView view = Views.of(racks, topics.toArray(Topic[]::new));
            RackFailures.Losses shared = new RackFailures.Losses(view);
            for (Topic topic : topics)
                for (Partition partition : topic.partitions()) {
                    RackFailures alone = RackFailures.of(new RackFailures.Losses(view), topic, partition);
                    assertEquals(alone, RackFailures.of(shared, topic, partition), () -> racks + " " + topic.own() + " " + partition);
                    found.add(alone);
                }
        }
        assertTrue(found.size() > 6, found.toString());
    }

    private static Partition partition(Random random, int brokers, int index) {
        List<Integer> ids = new ArrayList<>(IntStream.rangeClosed(1, brokers).boxed().toList());
        Collections.shuffle(ids, random);
        List<Integer> replicas = List.copyOf(ids.subList(0, 1 + random.nextInt(Math.min(4, brokers))));
        List<Integer> isr = replicas.stream().filter(replica -> random.nextInt(4) > 0).toList();
        List<Integer> elr = replicas.stream().filter(replica -> !isr.contains(replica) && random.nextBoolean()).toList();
        List<Integer> adding = replicas.stream().filter(replica -> random.nextInt(8) == 0).toList();
        Electable set = Electable.of(replicas.stream().filter(replica -> random.nextInt(3) == 0).toList());
        if (!set.isEmpty() && random.nextBoolean())
            set = set.withUnclean(set.members().get(0));
        return new Partition(index, isr.isEmpty() ? -1 : isr.get(random.nextInt(isr.size())), replicas, isr, elr, adding).withElectable(set);
    }

    @Test
    void controllersBearTheLossOfAMinorityOfThem() {
        List<Voter> spread = List.of(new Voter(1, "a", true), new Voter(2, "b", true), new Voter(3, "c", true));
        assertEquals(1, RackFailures.ofQuorum(Views.of(1, true, "abc", spread)));
        List<Voter> together = List.of(new Voter(1, "a", true), new Voter(2, "a", true), new Voter(3, "c", true));
        assertEquals(0, RackFailures.ofQuorum(Views.of(1, true, "abc", together)));
        List<Voter> unknown = List.of(new Voter(100, null, true), new Voter(101, "a", true), new Voter(102, "b", true));
        assertEquals(0, RackFailures.ofQuorum(Views.of(1, true, "abc", unknown)));
    }
}
