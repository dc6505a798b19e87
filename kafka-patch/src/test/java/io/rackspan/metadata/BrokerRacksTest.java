// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.UnfenceBrokerRecord;
import org.apache.kafka.common.metadata.UnregisterBrokerRecord;
import org.apache.kafka.image.ClusterDelta;
import org.apache.kafka.image.ClusterImage;
import org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManagerConfig;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

final class BrokerRacksTest {

    /** Counts pairs of brokers instead of a set of names: a broker adds one if no earlier broker shares its rack. */
    private static int oracle(Map<Integer, String> racks, List<Integer> brokers) {
        int span = 0;
        for (int i = 0; i < brokers.size(); i++) {
            if (!racks.containsKey(brokers.get(i)))
                continue;
            boolean known = false;
            for (int j = 0; j < i; j++)
                known |= racks.containsKey(brokers.get(j)) && name(racks, brokers.get(j)).equals(name(racks, brokers.get(i)));
            if (!known)
                span++;
        }
        return span;
    }

    private static String name(Map<Integer, String> racks, int broker) {
        return racks.get(broker) == null ? "" : racks.get(broker);
    }

    @Test
    void spanAgreesWithTheOracleForAnyRacksAndAnyReplicas() {
        for (int seed = 0; seed < 1000; seed++) {
            Random random = new Random(seed);
            Map<Integer, String> racks = new HashMap<>();
            int rackNames = 1 + random.nextInt(6);
            for (int id = 0; id < random.nextInt(12); id++)
                racks.put(id, random.nextInt(4) == 0 ? (random.nextBoolean() ? null : "") : "r" + random.nextInt(rackNames));
            List<Integer> isr = new ArrayList<>();
            // Ids up to 14: some are of brokers that never registered
            for (int id = 0; id < 15; id++)
                if (random.nextBoolean())
                    isr.add(id);
            java.util.Collections.shuffle(isr, random);
            BrokerRacks all = BrokerRacks.of(racks);
            assertEquals(oracle(racks, isr), all.span(isr), "seed " + seed + ", racks " + racks + ", isr " + isr);
            assertEquals(oracle(racks, isr), all.racksOf(Set.copyOf(isr)).size(), "seed " + seed);
            assertEquals(oracle(racks, new ArrayList<>(racks.keySet())), all.known().size(), "seed " + seed);
        }
    }

    @Test
    void spanNeverExceedsTheNumberOfReplicasAndGrowsWithThem() {
        for (int seed = 0; seed < 300; seed++) {
            Random random = new Random(seed);
            Map<Integer, String> racks = new HashMap<>();
            for (int id = 0; id < 9; id++)
                racks.put(id, random.nextInt(3) == 0 ? null : "r" + random.nextInt(4));
            BrokerRacks all = BrokerRacks.of(racks);
            Set<Integer> isr = new HashSet<>();
            int last = 0;
            for (int id : random.ints(20, 0, 9).toArray()) {
                isr.add(id);
                int span = all.span(isr);
                assertEquals(true, span >= last && span <= isr.size(), "seed " + seed + ", isr " + isr + ", racks " + racks);
                last = span;
            }
        }
    }

    @Test
    void unnamedBrokersAreListedAndNamedInWords() {
        Map<Integer, String> racks = new HashMap<>(Map.of(5, "b", 1, "a"));
        racks.put(3, null);
        racks.put(2, "");
        BrokerRacks all = BrokerRacks.of(racks);
        assertEquals("[2, 3]", all.unnamedBrokers().toString());
        assertEquals("(no broker.rack), a, b", BrokerRacks.describe(all.known()));
        assertEquals(3, all.span(List.of(1, 2, 3, 5)));
        assertEquals(0, all.span(List.of(77)));
        assertEquals(0, BrokerRacks.EMPTY.span(List.of(1, 2)));
    }

    private static ClusterImage with(ClusterImage image, int id, String rack) {
        ClusterDelta delta = new ClusterDelta(image);
        delta.replay(new RegisterBrokerRecord().setBrokerId(id).setRack(rack).setFenced(true));
        return delta.apply();
    }

    /** Until partitions know which brokers left their ISR, neither the racks before nor those after may be relied on. */
    @Test
    void whileRacksChangeTheSpanIsTheSmallerOne() {
        ClusterImage cluster = with(with(with(ClusterImage.EMPTY, 1, "a"), 2, "a"), 3, "b");
        BrokerRacks apart = BrokerRacks.EMPTY.updated(cluster).updated(with(cluster, 2, "b"));
        assertEquals(1, apart.span(List.of(1, 2)));
        assertEquals(2, apart.possibleSpan(List.of(1, 2)));
        assertEquals(1, apart.span(List.of(2, 3)), "and the other way round");
        assertEquals(2, apart.possibleSpan(List.of(2, 3)));
        assertNull(apart.settledRackOf(2));
        assertEquals("b", apart.rackOf(2), "the news are for those who look at the brokers");
        assertEquals("b", apart.settledRackOf(3));
        BrokerRacks settled = apart.settled();
        assertEquals(2, settled.span(List.of(1, 2)));
        assertEquals(1, settled.possibleSpan(List.of(2, 3)));
        assertEquals("b", settled.settledRackOf(2));
        ClusterDelta gone = new ClusterDelta(cluster);
        gone.replay(new UnregisterBrokerRecord().setBrokerId(3));
        BrokerRacks unregistered = BrokerRacks.EMPTY.updated(cluster).updated(gone.apply());
        assertEquals(1, unregistered.span(List.of(1, 3)));
        assertEquals(2, unregistered.possibleSpan(List.of(1, 3)));
        assertNull(unregistered.settledRackOf(3));
        assertEquals(1, unregistered.settled().possibleSpan(List.of(1, 3)));
    }

    @Test
    void racksAreReplacedOnlyWhenARackChanges() {
        ClusterImage cluster = with(with(ClusterImage.EMPTY, 1, "a"), 2, null);
        BrokerRacks racks = BrokerRacks.EMPTY.updated(cluster);
        assertEquals(2, racks.span(List.of(1, 2)));
        assertSame(racks, racks.updated(with(cluster, 1, "a")), "the same broker came back");
        BrokerRacks moved = racks.updated(with(cluster, 2, "a"));
        assertNotSame(racks, moved);
        assertEquals(1, moved.span(List.of(1, 2)));
        BrokerRacks settled = moved.settled();
        assertNotSame(moved, settled);
        assertSame(settled, settled.settled());
        assertEquals(1, settled.possibleSpan(List.of(1, 2)));
        ClusterDelta gone = new ClusterDelta(cluster);
        gone.replay(new UnregisterBrokerRecord().setBrokerId(2));
        BrokerRacks joined = racks.updated(with(cluster, 3, "c"));
        assertSame(joined, joined.settled(), "nobody counted before");
        assertEquals(1, racks.updated(gone.apply()).span(List.of(1, 2)));
    }

    @Test
    void aBrokerIsRelabellingForSomeMinutes() {
        ClusterImage cluster = with(with(ClusterImage.EMPTY, 1, "a"), 2, null);
        BrokerRacks first = BrokerRacks.EMPTY.updated(cluster);
        assertEquals(false, first.isRelabelling(List.of(1, 2)), "racks that this node has not known before");
        ClusterImage given = with(cluster, 2, "a");
        BrokerRacks named = first.updated(given);
        assertEquals(false, named.isRelabelling(List.of(1, 2)), "a broker that had none");
        long earliest = System.nanoTime();
        ClusterImage changed = with(given, 1, "b");
        long latest = System.nanoTime();
        BrokerRacks moved = named.updated(changed).settled();
        assertEquals(true, moved.isRelabelling(List.of(2, 1), earliest + BrokerRacks.RELABELLING_NS - 1));
        assertEquals(false, moved.isRelabelling(List.of(2), earliest + BrokerRacks.RELABELLING_NS - 1));
        assertEquals(false, moved.isRelabelling(List.of(2, 1), latest + BrokerRacks.RELABELLING_NS));
        BrokerRacks other = moved.updated(with(changed, 3, "c"));
        assertEquals(true, other.isRelabelling(List.of(1), earliest + BrokerRacks.RELABELLING_NS - 1), "another broker's news change nothing");
        BrokerRacks again = BrokerRacks.EMPTY.updated(with(changed, 1, "b"));
        assertEquals(true, again.isRelabelling(List.of(1)), "nor does another start with the same rack");
        assertEquals(false, again.isRelabelling(List.of(1), latest + BrokerRacks.RELABELLING_NS));
    }

    /** A node that starts reads its metadata log, and is given the result only. */
    @Test
    void aNodeThatStartsKnowsWhoIsRelabelling() {
        ClusterDelta log = new ClusterDelta(ClusterImage.EMPTY);
        for (String rack : List.of("a", "b"))
            log.replay(new RegisterBrokerRecord().setBrokerId(1).setBrokerEpoch(7).setRack(rack).setFenced(true));
        log.replay(new RegisterBrokerRecord().setBrokerId(2).setRack("b").setFenced(true));
        log.replay(new UnfenceBrokerRecord().setId(1).setEpoch(7));
        BrokerRacks racks = BrokerRacks.EMPTY.updated(log.apply());
        assertEquals(true, racks.isRelabelling(List.of(1)));
        assertEquals(false, racks.isRelabelling(List.of(2)));
    }

    @Test
    void internalTopicsAreThoseOfKafkaAndOfTieredStorage() {
        assertEquals(TopicBasedRemoteLogMetadataManagerConfig.REMOTE_LOG_METADATA_TOPIC_NAME, InternalTopics.REMOTE_LOG_METADATA);
        for (String topic : List.of("__consumer_offsets", "__transaction_state", "__share_group_state", "__remote_log_metadata"))
            assertEquals(true, InternalTopics.contains(topic), topic);
        assertEquals(false, InternalTopics.contains("orders"));
    }
}
