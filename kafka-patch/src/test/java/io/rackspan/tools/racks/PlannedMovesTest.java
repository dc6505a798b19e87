// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.server.common.MetadataVersion;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.Verdict;
import io.rackspan.metadata.EligibleSpan;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.protocol.Electable;
import io.rackspan.prediction.ClusterView.Topic;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Reassignments that are planned: what is read, what is refused, and the end of a move as the controller's own class makes it. */
final class PlannedMovesTest {

    private static final int CASES = 5_000;
    private static final Uuid TOPIC_ID = Uuid.fromString("FbrrdcfiR-KC2CPSTHaJrg");

    @TempDir
    Path folder;

    private Path file(String text) throws IOException {
        return Files.writeString(folder.resolve("moves.json"), text);
    }

    private static String moves(int partition, List<Integer> replicas) {
        return "{\"version\": 1, \"partitions\": [{\"topic\": \"t\", \"partition\": " + partition + ", \"replicas\": " + replicas + ", \"log_dirs\": [\"any\"]}]}";
    }

    private String refusal(ClusterView view, String text) throws IOException {
        Path file = file(text);
        return assertThrows(UsageException.class, () -> PlannedMoves.read(file, view)).getMessage().replace(file.toString(), "F");
    }

    @Test
    void whatIsLostIsThatOfTheNewPlaces() throws Exception {
        ClusterView view = Views.of("aab", Views.topic("t", Map.of(Views.MIN_REPLICAS, "1"), Views.partition(List.of(1, 2))));
        assertEquals(Verdict.NO, Views.without(view, "rack:a", false).readable());
        ClusterView moved = PlannedMoves.apply(view, PlannedMoves.read(file(moves(0, List.of(1, 3))), view));
        assertEquals(Verdict.YES, Views.without(moved, "rack:a", false).readable());
    }

    @Test
    void aFileThatIsNoReassignmentIsRefused() throws IOException {
        ClusterView view = Views.of("abc", Views.topic("t", Map.of(), Views.partition(List.of(1, 2))));
        assertTrue(refusal(view, "{\"version\": 1, \"parti").startsWith("--reassignment F: it is not JSON: Unexpected end-of-input"));
        for (String other : List.of("", "[]", "{\"version\": 2, \"partitions\": []}", "{\"version\": 1, \"partitions\": 3}"))
            assertEquals("--reassignment F: it is no reassignment of version 1, as kafka-reassign-partitions.sh takes it.", refusal(view, other));
        UsageException missing = assertThrows(UsageException.class, () -> PlannedMoves.read(folder.resolve("nosuch"), view));
        assertEquals("--reassignment: " + folder.resolve("nosuch") + " (No such file or directory).", missing.getMessage());
    }

    @Test
    void aMoveThatCannotBeMadeIsRefused() throws IOException {
        ClusterView view = Views.of("abcD", Views.topic("t", Map.of(), Views.partition(List.of(1, 2), 1)));
        String one = "{\"partitions\": [{\"topic\": \"t\", \"partition\": 0, \"replicas\": [1, 3]}";
        assertEquals("--reassignment F: t-1 is not there.", refusal(view, moves(1, List.of(1, 2))));
        assertEquals("--reassignment F: t-0 is there twice.", refusal(view, one + one.substring(one.indexOf('[') + 1).transform(again -> ", " + again) + "]}"));
        assertEquals("--reassignment F: t-0: broker 7 is not registered. Brokers: [1, 2, 3, 4].", refusal(view, moves(0, List.of(1, 7))));
        assertEquals("--reassignment F: t-0: broker 1 is there twice.", refusal(view, moves(0, List.of(1, 1))));
        assertEquals("--reassignment F: t-0 would not be moved now: [4] would have to come into sync and do not run.", refusal(view, moves(0, List.of(1, 4))));
        assertTrue(refusal(view, moves(0, List.of())).endsWith("lacks a topic, a partition or replicas."));
        Partition leaderless = new Partition(0, -1, List.of(1, 2), List.of(), List.of(1), List.of());
        assertEquals("--reassignment F: t-0 would not be moved now: it has no leader to copy from.",
            refusal(Views.of("abc", Views.topic("t", Map.of(), leaderless)), moves(0, List.of(1, 3))));
    }

    @Test
    void aMoveEndsAsTheControllerEndsIt() {
        int completed = 0;
        int handedOver = 0;
        for (int seed = 0; seed < CASES; seed++) {
            Random random = new Random(seed);
            List<Integer> ids = new ArrayList<>(List.of(1, 2, 3, 4, 5));
            Collections.shuffle(ids, random);
            List<Integer> before = List.copyOf(ids.subList(0, 1 + random.nextInt(4)));
            Collections.shuffle(ids, random);
            List<Integer> after = List.copyOf(ids.subList(0, 1 + random.nextInt(4)));
            List<Integer> isr = before.subList(0, 1 + random.nextInt(before.size()));
            int leader = isr.get(random.nextInt(isr.size()));
            boolean hasSet = random.nextBoolean();
            Electable set = hasSet ? Electable.of(isr.stream().filter(replica -> replica == leader || random.nextBoolean()).toList()) : Electable.NONE;
            Partition partition = new Partition(0, leader, before, isr, List.of(), List.of()).withElectable(set);
            ClusterView view = Views.of("abcab", Views.topic("t", Map.of(), partition));
            Partition expected = byController(partition, after);
            if (expected == null)
                continue;
            completed++;
            handedOver += hasSet && !after.contains(leader) ? 1 : 0;
            ClusterView moved = PlannedMoves.apply(view, List.of(new Repair.Move("t", 0, before, after)));
            Partition found = moved.topics().get("t").partitions().get(0);
            String message = "seed " + seed + ": " + partition + " to " + after;
            assertEquals(expected.replicas(), found.replicas(), message);
            assertEquals(sorted(expected.isr()), sorted(found.isr()), message);
            assertEquals(expected.leader(), found.leader(), message);
            assertEquals(expected.electable(), found.electable(), message);
        }
        assertTrue(completed > CASES / 2, "completed: " + completed);
        assertTrue(handedOver > CASES / 10, "handed over: " + handedOver);
    }

    private static Set<Integer> sorted(List<Integer> ids) {
        return new TreeSet<>(ids);
    }

    /** The move is requested, then the replicas that have to be are in sync; null if the controller does not end it. */
    private static Partition byController(Partition partition, List<Integer> after) {
        List<Integer> removing = partition.replicas().stream().filter(replica -> !after.contains(replica)).toList();
        List<Integer> adding = after.stream().filter(replica -> !partition.replicas().contains(replica)).toList();
        List<Integer> during = new ArrayList<>(after);
        during.addAll(removing);
        Uuid[] directories = new Uuid[partition.replicas().size()];
        Arrays.fill(directories, DirectoryId.UNASSIGNED);
        PartitionRegistration state = new PartitionRegistration.Builder().setReplicas(Replicas.toArray(partition.replicas())).setDirectories(directories)
            .setIsr(Replicas.toArray(partition.isr())).setLeader(partition.leader()).setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
            .setLeaderEpoch(5).setPartitionEpoch(5).build();
        state = state.merge(partition.electable().intoChange(new PartitionChangeRecord().setTopicId(TOPIC_ID).setPartitionId(0)));
        state = changed(state, builder(state).setTargetReplicas(during).setTargetAdding(adding).setTargetRemoving(removing));
        List<Integer> isr = new ArrayList<>(Replicas.toList(state.isr));
        for (int replica : after.size() < partition.replicas().size() ? after : adding)
            if (!isr.contains(replica))
                isr.add(replica);
        if (isr.stream().noneMatch(after::contains))
            isr.addAll(after);
        state = changed(state, builder(state).setTargetIsr(isr));
        // A leader that leaves hands over, or chooses somebody whom it can hand over to; the next one chooses a set within what stays
        for (int change = 0; change < 3 && isInProgress(state); change++)
            state = changed(state, builder(state).setTargetElectable(chosen(state, after)));
        if (isInProgress(state))
            return null;
        return new Partition(0, state.leader, Replicas.toList(state.replicas), Replicas.toList(state.isr), List.of(), List.of()).withElectable(state.electable);
    }

    private static boolean isInProgress(PartitionRegistration state) {
        return state.removingReplicas.length + state.addingReplicas.length > 0;
    }

    /** What a leader proposes during a move: what is left of the set, or the first replica in sync that stays, and itself. */
    private static Electable chosen(PartitionRegistration state, List<Integer> after) {
        if (state.electable.isEmpty())
            return state.electable;
        Set<Integer> members = new TreeSet<>(state.electable.within(after).members());
        if (members.isEmpty())
            after.stream().filter(Replicas.toList(state.isr)::contains).findFirst().ifPresent(members::add);
        members.add(state.leader);
        return Electable.of(members);
    }

    private static PartitionChangeBuilder builder(PartitionRegistration state) {
        return new PartitionChangeBuilder(state, TOPIC_ID, 0, replica -> true, MetadataVersion.latestProduction(), 1, true)
            .setEligibleSpan(EligibleSpan.of((short) 1, 1, replica -> "x")).setDefaultDirProvider(id -> DirectoryId.UNASSIGNED);
    }

    private static PartitionRegistration changed(PartitionRegistration state, PartitionChangeBuilder builder) {
        return builder.build().map(record -> state.merge((PartitionChangeRecord) record.message())).orElse(state);
    }
}
