// SPDX-License-Identifier: Apache-2.0
package io.rackspan.controller;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.server.common.MetadataVersion;

import io.rackspan.metadata.EligibleSpan;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntPredicate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Replicas that stay eligible when the in-sync replicas change: brokers 1 and 2 are in rack a, 3 and 4 in b, 5 in c unless a test says otherwise. */
final class EligibleLeadersTest {

    private static final MetadataVersion VERSION = MetadataVersion.latestProduction();

    private final Map<Integer, String> racks = new HashMap<>(Map.of(1, "a", 2, "a", 3, "b", 4, "b", 5, "c"));
    private int minReplicas = 2;
    private int minRacks = 2;
    private IntPredicate alive = broker -> true;
    private PartitionRegistration partition = partition(List.of(1, 3, 2, 4), List.of(1, 3, 2, 4), List.of(), 1);

    private static int[] ids(Collection<Integer> brokers) {
        return brokers.stream().mapToInt(i -> i).toArray();
    }

    private static PartitionRegistration partition(List<Integer> replicas, List<Integer> isr, List<Integer> elr, int leader) {
        Uuid[] directories = new Uuid[replicas.size()];
        Arrays.fill(directories, Uuid.fromString("AAAAAAAAAAAAAAAAAAAAZA"));
        return new PartitionRegistration.Builder().setReplicas(ids(replicas)).setDirectories(directories).setIsr(ids(isr)).setElr(ids(elr))
            .setLeader(leader).setLeaderRecoveryState(LeaderRecoveryState.RECOVERED).setLeaderEpoch(1).setPartitionEpoch(1).build();
    }

    private PartitionChangeBuilder change() {
        return new PartitionChangeBuilder(partition, Uuid.ONE_UUID, 0, alive, VERSION, minReplicas, true)
            .setEligibleSpan(EligibleSpan.of((short) 1, minRacks, racks::get))
            .setDefaultDirProvider(broker -> Uuid.fromString("AAAAAAAAAAAAAAAAAAAAZA"));
    }

    private void apply(PartitionChangeBuilder change) {
        change.build().ifPresent(record -> partition = partition.merge((PartitionChangeRecord) record.message()));
    }

    private void isr(Integer... isr) {
        apply(change().setTargetIsr(List.of(isr)));
    }

    private static Set<Integer> set(int[] brokers) {
        return new TreeSet<>(Replicas.toList(brokers));
    }

    private void assertEligible(Integer... expected) {
        assertEquals(new TreeSet<>(List.of(expected)), set(partition.elr), () -> partition.toString());
    }

    @Test
    void aReplicaThatLeavesStaysEligibleUntilSizeAndSpanAreMet() {
        isr(1, 3, 2);
        assertEligible();
        isr(1, 2);
        assertEligible(3);
        isr(1);
        assertEligible(2, 3);
        isr(1, 2);
        assertEligible(3);
        isr(1, 2, 4);
        assertEligible();
    }

    @Test
    void whereOneReplicaIsEnoughTheSpanStillIsNot() {
        minReplicas = 1;
        isr(1);
        assertEligible(2, 3, 4);
        isr(1, 4);
        assertEligible();
    }

    @Test
    void theSpanAloneIsNotEnough() {
        minReplicas = 3;
        isr(1, 3);
        assertEligible(2, 4);
        isr(1, 3, 4);
        assertEligible();
    }

    @Test
    void aReplicaWithATornLogIsNotEligible() {
        isr(1, 2);
        assertEligible(3, 4);
        apply(change().setUncleanShutdownReplicas(List.of(4)));
        assertEligible(3);
        isr(1, 2, 3);
        apply(change().setTargetIsr(List.of(1, 3)).setUncleanShutdownReplicas(List.of(2)));
        assertEligible();
        apply(change().setTargetIsr(List.of(1)).setUncleanShutdownReplicas(List.of(3)));
        assertEligible();
    }

    /** Rack b falls out of sync, rack a loses its power: the story of docs/results/durability.md. */
    @Test
    void theCompleteReplicasLeadAfterAPowerCut() {
        Set<Integer> down = new HashSet<>(Set.of(3, 4));
        alive = broker -> !down.contains(broker);
        isr(1, 2);
        assertEligible(3, 4);
        down.addAll(List.of(1, 2));
        isr(2);
        isr();
        assertEquals(-1, partition.leader);
        assertEligible(1, 2, 3, 4);
        for (int torn : List.of(1, 2)) {
            apply(change().setUncleanShutdownReplicas(List.of(torn)));
            down.remove(torn);
            apply(change());
        }
        assertEquals(-1, partition.leader, "a torn log was elected");
        assertEligible(3, 4);
        down.remove(4);
        apply(change());
        assertEquals(4, partition.leader);
        assertEligible(3);
        isr(4, 3);
        assertEligible();
    }

    @Test
    void anAssignmentInOneRackIsCheckedByItsNumberAsBefore() {
        partition = partition(List.of(1, 2), List.of(1, 2), List.of(), 1);
        minReplicas = 1;
        isr(1);
        assertEligible();
        alive = broker -> broker != 1;
        isr();
        assertEligible(1);
    }

    @Test
    void moreRacksThanTheAssignmentHasAreNotWaitedFor() {
        minRacks = 3;
        isr(1, 2);
        assertEligible(3, 4);
        isr(1, 2, 3);
        assertEligible();
    }

    @Test
    void brokersWithoutARackShareOneAndUnregisteredOnesHaveNone() {
        racks.putAll(Map.of(1, "", 2, ""));
        isr(1, 2);
        assertEligible(3, 4);
        racks.remove(3);
        isr(1, 2, 3);
        assertEligible(4);
        racks.remove(4);
        apply(change());
        assertEligible();
    }

    @Test
    void aChangedRackCountsFromTheNextChangeOn() {
        isr(1, 2);
        assertEligible(3, 4);
        racks.put(2, "c");
        apply(change());
        assertEligible();
    }

    @Test
    void aLeaderThatSufficesAloneLeavesNoReplicaEligible() {
        minReplicas = 1;
        partition = partition(List.of(1, 3), List.of(), List.of(1, 3), -1);
        alive = broker -> broker == 3;
        racks.put(3, "a");
        apply(change());
        assertEquals(3, partition.leader);
        assertEligible();

        racks.put(3, "b");
        partition = partition(List.of(1, 3), List.of(), List.of(1, 3), -1);
        apply(change());
        assertEquals(3, partition.leader);
        assertEligible(1);
    }

    @Test
    void aReassignmentIsCheckedByTheNewAssignment() {
        partition = partition(List.of(1, 2, 3), List.of(1, 2), List.of(3), 1);
        apply(change().setTargetReplicas(List.of(1, 2)));
        assertEligible();

        minReplicas = 1;
        partition = partition(List.of(1, 2, 3), List.of(1), List.of(2, 3), 1);
        apply(change().setTargetReplicas(List.of(1, 2)));
        assertEligible();

        minReplicas = 2;
        racks.put(6, "a");
        partition = partition(List.of(1, 2, 3, 4), List.of(1, 2), List.of(3, 4), 1);
        apply(change().setTargetReplicas(List.of(1, 2, 3, 6, 4)).setTargetAdding(List.of(6)).setTargetRemoving(List.of(4)));
        assertEligible(3, 4);
        isr(1, 2, 6);
        assertEquals(List.of(1, 2, 3, 6, 4), Replicas.toList(partition.replicas), "it waits for a replica in rack b");
        assertEligible(3, 4);
        isr(1, 2, 6, 3);
        assertEquals(List.of(1, 2, 3, 6), Replicas.toList(partition.replicas));
        assertEligible();
    }

    @Test
    void aRemovedReplicaIsNotEligibleWhenItReturns() {
        minRacks = 1;
        minReplicas = 3;
        partition = partition(List.of(1, 2, 3, 4), List.of(1, 2), List.of(3), 1);
        apply(change().setTargetReplicas(List.of(1, 2, 4)));
        assertEligible();

        partition = partition(List.of(1, 2, 4), List.of(1, 2), List.of(3), 1);
        apply(change().setTargetReplicas(List.of(1, 2, 4, 3)).setTargetAdding(List.of(3)));
        assertEquals(List.of(3), Replicas.toList(partition.addingReplicas));
        assertEligible();
    }

    @Test
    void racksThatAReassignmentAddsCountWhenItEnds() {
        minReplicas = 1;
        partition = partition(List.of(1, 2), List.of(1, 2), List.of(), 1);
        apply(change().setTargetReplicas(List.of(1, 2, 3)).setTargetAdding(List.of(3)));
        isr(1);
        assertEligible();
        isr(1, 2);
        isr(1, 2, 3);
        assertEquals(List.of(), Replicas.toList(partition.addingReplicas));
        isr(1, 2);
        assertEligible(3);
    }

    /** The rule of the base, written down anew: it must hold exactly where no racks are required. */
    @Test
    void anyChangeObeysTheRule() {
        int kept = 0;
        for (int seed = 0; seed < 20_000; seed++) {
            Random random = new Random(seed);
            List<Integer> replicas = new ArrayList<>(List.of(0, 1, 2, 3, 4, 5, 6));
            Collections.shuffle(replicas, random);
            replicas = replicas.subList(0, 1 + random.nextInt(6));
            racks.clear();
            for (int id = 0; id < 7; id++)
                if (random.nextInt(10) > 0)
                    racks.put(id, random.nextInt(8) == 0 ? "" : "r" + random.nextInt(3));
            List<Integer> isr = replicas.stream().filter(id -> random.nextInt(3) > 0).toList();
            List<Integer> elr = replicas.stream().filter(id -> !isr.contains(id) && random.nextBoolean()).toList();
            List<Integer> newIsr = replicas.stream().filter(id -> random.nextBoolean()).toList();
            List<Integer> torn = replicas.stream().filter(id -> random.nextInt(4) == 0).toList();
            Set<Integer> down = new HashSet<>(replicas.stream().filter(id -> random.nextInt(3) == 0).toList());
            alive = id -> !down.contains(id);
            minReplicas = 1 + random.nextInt(replicas.size());
            minRacks = 1 + random.nextInt(3);
            partition = partition(replicas, isr, elr, isr.isEmpty() ? -1 : isr.get(0));
            String context = "seed " + seed + ": " + partition + ", new isr " + newIsr + ", torn " + torn + ", down " + down + ", racks " + racks +
                ", minimums " + minReplicas + " and " + minRacks;
            apply(change().setTargetIsr(newIsr).setUncleanShutdownReplicas(torn));

            Set<Integer> expected = new TreeSet<>(isr);
            expected.addAll(elr);
            expected.removeAll(newIsr);
            expected.removeAll(torn);
            if (enough(newIsr, replicas))
                expected.clear();
            // A leader out of those eligible is in sync, alone
            expected.removeAll(set(partition.isr));
            if (enough(set(partition.isr), replicas))
                expected.clear();
            assertEquals(expected, set(partition.elr), context + ", became " + partition);
            if (minRacks > 1 && newIsr.size() >= minReplicas && !expected.isEmpty())
                kept++;
        }
        assertTrue(kept > 500, "racks decided in " + kept + " cases only");
    }

    private boolean enough(Collection<Integer> isr, List<Integer> replicas) {
        return isr.size() >= minReplicas && (minRacks == 1 || span(isr) >= Math.min(minRacks, span(replicas)));
    }

    private long span(Collection<Integer> brokers) {
        return brokers.stream().map(racks::get).filter(rack -> rack != null).distinct().count();
    }
}
