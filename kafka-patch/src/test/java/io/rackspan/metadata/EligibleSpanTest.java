// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.common.TopicPartition;

import io.rackspan.cluster.RackSpan;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

final class EligibleSpanTest {

    private static final short LEVEL = 1;
    private static final BrokerRacks RACKS = BrokerRacks.of(Map.of(1, "a", 2, "a", 3, "b", 4, "b", 5, "", 6, ""));

    private static boolean met(int minRacks, List<Integer> isr, List<Integer> assignment) {
        return EligibleSpan.of(LEVEL, minRacks, RACKS::rackOf).isMet(isr, assignment);
    }

    @Test
    void racksAreCountedUpToThoseOfTheAssignment() {
        List<Integer> four = List.of(1, 3, 2, 4);
        assertTrue(met(2, List.of(1, 3), four));
        assertFalse(met(2, List.of(1, 2), four));
        assertTrue(met(3, List.of(1, 3), four), "there is no third rack to wait for");
        assertTrue(met(2, List.of(1), List.of(1, 2)), "an assignment in one rack");
        assertFalse(met(2, List.of(), List.of(1, 2)));
    }

    @Test
    void brokersWithoutARackShareOneAndUnknownBrokersHaveNone() {
        assertFalse(met(2, List.of(5, 6), List.of(1, 5, 6)));
        assertTrue(met(2, List.of(1, 5), List.of(1, 5, 6)));
        assertFalse(met(2, List.of(1, 9), List.of(1, 3, 9)));
        assertTrue(met(2, List.of(1), List.of(1, 9)), "9 may never come back");
    }

    @Test
    void aTopicThatRequiresNoRacksReadsNone() {
        EligibleSpan blind = EligibleSpan.of(LEVEL, 1, broker -> {
            throw new AssertionError("a rack was looked up");
        });
        assertFalse(blind.isAsked());
        assertTrue(blind.isMet(List.of(), List.of(1, 3)));
    }

    @Test
    void onlyAssignedReplicasAreEligible() {
        for (int minRacks : new int[] {1, 2}) {
            EligibleSpan span = EligibleSpan.of(LEVEL, minRacks, RACKS::rackOf);
            assertEquals(List.of(4, 1), span.assigned(List.of(4, 2, 1), List.of(1, 2, 3, 4), List.of(1, 3, 4)), "2 is removed");
            assertEquals(List.of(4, 1), span.assigned(List.of(4, 2, 1), List.of(1, 3, 4), List.of(1, 2, 3, 4)), "2 was removed before");
        }
    }

    @Test
    void atLevel0NothingIsChanged() {
        List<Integer> eligible = List.of(1, 2);
        EligibleSpan stock = EligibleSpan.of((short) 0, 3, RACKS::rackOf);
        assertSame(EligibleSpan.STOCK, stock);
        assertFalse(stock.isAsked());
        assertTrue(stock.isMet(List.of(), List.of(1, 3)));
        assertSame(eligible, stock.assigned(eligible, List.of(), List.of()));
    }

    /** If they differed, a high watermark would move while the controller still takes those who left for complete. */
    @Test
    void theControllerForgetsWhereTheLeaderLetsTheHighWatermarkMove() {
        for (int seed = 0; seed < 3000; seed++) {
            Random random = new Random(seed);
            Map<Integer, String> names = new HashMap<>();
            for (int id = 0; id < 8; id++)
                if (random.nextInt(6) > 0)
                    names.put(id, random.nextInt(5) == 0 ? "" : "r" + random.nextInt(4));
            BrokerRacks racks = BrokerRacks.of(names);
            List<Integer> ids = new ArrayList<>(List.of(0, 1, 2, 3, 4, 5, 6, 7));
            Collections.shuffle(ids, random);
            List<Integer> assignment = ids.subList(0, 1 + random.nextInt(6));
            List<Integer> isr = assignment.subList(0, random.nextInt(assignment.size() + 1));
            int minRacks = 1 + random.nextInt(5);
            boolean held = new RackSpan(new TopicPartition("t", 0), () -> racks).holdsHighWatermark(minRacks, isr, assignment);
            assertEquals(!held, EligibleSpan.of(LEVEL, minRacks, racks::rackOf).isMet(isr, assignment),
                "seed " + seed + ": racks " + names + ", assignment " + assignment + ", isr " + isr + ", minimum " + minRacks);
        }
    }
}
