// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** The count against its definition, for members, racks, log ends and numbers drawn at random. */
final class QuorumMembersTest {

    private static final int ROUNDS = 20_000;

    /** Members, which are the numbers from 0 on, and what is required of them. Log ends are few, so that many are equal. */
    private record Case(List<Integer> members, List<String> racks, long[] ends, int minReplicas, int minRacks) {

        static Case draw(Random random) {
            int size = random.nextInt(7);
            Case drawn = new Case(new ArrayList<>(), new ArrayList<>(), new long[size], 1 + random.nextInt(5), 1 + random.nextInt(4));
            for (int i = 0; i < size; i++) {
                drawn.members.add(i);
                int rack = random.nextInt(size + 1);
                drawn.racks.add(rack == 0 ? null : "rack" + rack);
                drawn.ends[i] = random.nextInt(6) - 1;
            }
            return drawn;
        }

        boolean hold(long offset) {
            return new QuorumMembers<>(members, racks, minReplicas, minRacks).hold(offset, member -> ends[member]);
        }

        /** The definition. */
        boolean expected(long offset) {
            int holders = 0;
            Set<String> found = new HashSet<>();
            for (int i = 0; i < ends.length; i++) {
                if (ends[i] < offset)
                    continue;
                holders++;
                if (racks.get(i) != null)
                    found.add(racks.get(i));
            }
            return holders >= minReplicas && (minRacks == 1 || found.size() >= minRacks);
        }

        @Override
        public String toString() {
            return "racks " + racks + ", ends " + Arrays.toString(ends) + ", " + minReplicas + " replicas in " + minRacks + " racks";
        }
    }

    @Test
    void holdWhatEnoughMembersInEnoughRacksHave() {
        Random random = new Random(1);
        int held = 0;
        for (int round = 0; round < ROUNDS; round++) {
            Case drawn = Case.draw(random);
            for (long offset = 0; offset < 6; offset++) {
                assertEquals(drawn.expected(offset), drawn.hold(offset), drawn + " at " + offset);
                held += drawn.expected(offset) ? 1 : 0;
            }
        }
        assertTrue(held > ROUNDS / 2, "held " + held);
    }

    @Test
    void aMemberInNoKnownRackCountsAsAReplicaAndForNoRack() {
        QuorumMembers<Integer> twoRacks = new QuorumMembers<>(Arrays.asList(0, 1, 2), Arrays.asList("a", null, null), 2, 2);
        assertFalse(twoRacks.hold(1, member -> 9));
        QuorumMembers<Integer> oneRack = new QuorumMembers<>(Arrays.asList(0, 1, 2), Arrays.asList("a", null, null), 3, 1);
        assertTrue(oneRack.hold(1, member -> 9));
    }

    @Test
    void noMembersHoldNothing() {
        assertFalse(new QuorumMembers<Integer>(List.of(), List.of(), 1, 1).hold(0, member -> 9));
    }
}
