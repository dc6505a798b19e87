// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.junit.jupiter.api.Test;

import java.util.Random;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** The order statistic against its definition, for members, racks, log ends and numbers drawn at random. */
final class QuorumOffsetTest {

    private static final int ROUNDS = 20_000;

    /** A set of members and what is required of them. Log ends are few, so that many are equal. */
    private record Case(Object[] members, int[] racks, long[] ends, int minReplicas, int minRacks) {

        static Case draw(Random random) {
            int size = random.nextInt(7);
            Case drawn = new Case(new Object[size], new int[size], new long[size], 1 + random.nextInt(5), 1 + random.nextInt(4));
            for (int i = 0; i < size; i++) {
                drawn.members[i] = new Object();
                drawn.racks[i] = random.nextInt(size + 1) - 1;
                drawn.ends[i] = random.nextInt(6) - 1;
            }
            return drawn;
        }

        QuorumOffset build() {
            QuorumOffset quorum = new QuorumOffset(members.length, minReplicas, minRacks);
            for (int i = 0; i < members.length; i++)
                quorum.add(members[i], racks[i], ends[i]);
            quorum.settle();
            return quorum;
        }

        /** The definition: the largest offset that enough members in enough racks have reached. */
        long expected() {
            for (long offset = 5; offset >= 0; offset--) {
                int holders = 0;
                long holdersRacks = 0;
                for (int i = 0; i < members.length; i++) {
                    if (ends[i] >= offset) {
                        holders++;
                        if (racks[i] >= 0)
                            holdersRacks |= 1L << racks[i];
                    }
                }
                if (holders >= minReplicas && (minRacks == 1 || Long.bitCount(holdersRacks) >= minRacks))
                    return offset;
            }
            return QuorumOffset.NONE;
        }

        @Override
        public String toString() {
            return "racks " + java.util.Arrays.toString(racks) + ", ends " + java.util.Arrays.toString(ends) + ", " + minReplicas +
                " replicas in " + minRacks + " racks";
        }
    }

    @Test
    void isTheLargestOffsetThatEnoughMembersInEnoughRacksHold() {
        Random random = new Random(1);
        for (int round = 0; round < ROUNDS; round++) {
            Case drawn = Case.draw(random);
            assertEquals(drawn.expected(), drawn.build().offset(), drawn::toString);
        }
    }

    @Test
    void changesGiveTheSameAsANewCount() {
        Random random = new Random(2);
        for (int round = 0; round < ROUNDS / 10; round++) {
            Case drawn = Case.draw(random);
            QuorumOffset quorum = drawn.build();
            for (int change = 0; change < 20 && drawn.members.length > 0; change++) {
                int i = random.nextInt(drawn.members.length);
                drawn.ends[i] = random.nextInt(6) - 1;
                quorum.moved(drawn.members[i], drawn.ends[i]);
                assertEquals(drawn.expected(), quorum.offset(), drawn::toString);
                assertEquals(drawn.build().offset(), quorum.offset(), drawn::toString);
            }
        }
    }

    @Test
    void neverFallsWhileMembersOnlyAdvance() {
        Random random = new Random(3);
        for (int round = 0; round < ROUNDS / 10; round++) {
            Case drawn = Case.draw(random);
            QuorumOffset quorum = drawn.build();
            for (int change = 0; change < 20 && drawn.members.length > 0; change++) {
                long before = quorum.offset();
                int i = random.nextInt(drawn.members.length);
                quorum.moved(drawn.members[i], drawn.ends[i] += random.nextInt(3));
                assertTrue(quorum.offset() >= before, drawn::toString);
            }
        }
    }

    @Test
    void aReportOfANonMemberChangesNothing() {
        QuorumOffset quorum = new QuorumOffset(2, 2, 1);
        quorum.add("leader", 0, Long.MAX_VALUE);
        quorum.add("follower", 0, 3);
        quorum.settle();
        quorum.moved("stranger", 9);
        assertEquals(3, quorum.offset());
        quorum.moved("follower", 4);
        assertEquals(4, quorum.offset());
    }
}
