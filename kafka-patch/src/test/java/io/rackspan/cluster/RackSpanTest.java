// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.storage.internals.log.AppendOrigin;

import io.rackspan.metadata.BrokerRacks;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.NotEnoughRacksException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.MockTime;

import org.junit.jupiter.api.Test;

import java.util.AbstractSet;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

final class RackSpanTest {

    private static final TopicPartition TP = new TopicPartition("orders", 3);

    /** A set that counts how often it is walked through. */
    private static final class Counted extends AbstractSet<Integer> {
        private final Set<Integer> ids;
        private int walks = 0;

        private Counted(Integer... ids) {
            this.ids = Set.of(ids);
        }

        @Override
        public Iterator<Integer> iterator() {
            walks++;
            return ids.iterator();
        }

        @Override
        public int size() {
            return ids.size();
        }
    }

    private BrokerRacks racks = BrokerRacks.of(Map.of(1, "a", 2, "a", 3, "b", 4, "c"));
    private final RackSpan span = new RackSpan(TP, () -> racks);

    @Test
    void theDefaultLooksAtNoRacks() {
        RackSpan blind = new RackSpan(TP, () -> {
            throw new AssertionError("racks were looked up");
        });
        Counted isr = new Counted(1);
        blind.checkAppend(1, isr, List.of(1, 2), List.of(1, 2), AppendOrigin.CLIENT, new MockTime());
        assertFalse(blind.holdsHighWatermark(1, isr, List.of(1, 2)));
        assertEquals(Errors.NONE, blind.checkAfterAppend(1, isr, List.of(1, 2), AppendOrigin.COORDINATOR));
        assertFalse(blind.isUnder(1, isr));
        assertFalse(blind.isAt(1, isr));
        assertEquals(0, isr.walks);
    }

    @Test
    void countsOncePerChangeAndNotPerCall() {
        Counted isr = new Counted(1, 3);
        span.checkAppend(2, isr, List.of(1, 2, 3), List.of(1, 2, 3), AppendOrigin.CLIENT, new MockTime());
        int once = isr.walks;
        for (int i = 0; i < 100; i++)
            span.checkAppend(2, isr, List.of(1, 2, 3), List.of(1, 2, 3), AppendOrigin.CLIENT, new MockTime());
        assertEquals(once, isr.walks);
        racks = BrokerRacks.of(Map.of(1, "a", 3, "a"));
        assertEquals(1, span.span(isr));
        int again = isr.walks;
        assertTrue(again > once, "counted anew");
        assertEquals(1, span.span(isr));
        assertEquals(again, isr.walks);
        assertEquals(1, span.span(new Counted(3)));
    }

    @Test
    void gatesAgreeWithTheRuleForAnyIsr() {
        for (int seed = 0; seed < 500; seed++) {
            Random random = new Random(seed);
            Map<Integer, String> byId = new HashMap<>();
            for (int id = 1; id <= 8; id++)
                byId.put(id, random.nextInt(5) == 0 ? null : "r" + random.nextInt(4));
            racks = BrokerRacks.of(byId);
            List<Integer> assignment = new ArrayList<>();
            for (int id = 1; id <= 8; id++)
                if (random.nextBoolean())
                    assignment.add(id);
            List<Integer> isr = assignment.stream().filter(id -> random.nextInt(3) > 0).toList();
            int minRacks = 1 + random.nextInt(5);
            int have = racks.span(isr);
            int reachable = racks.span(assignment);
            String context = "seed " + seed + ", racks " + byId + ", assignment " + assignment + ", isr " + isr + ", min " + minRacks;
            boolean held = minRacks > 1 && have < Math.min(minRacks, reachable);
            assertEquals(minRacks > 1 && have < minRacks, span.isUnder(minRacks, isr), context);
            assertEquals(held, span.holdsHighWatermark(minRacks, isr, assignment), context);
            assertEquals(minRacks > 1 && have == minRacks, span.isAt(minRacks, isr), context);
            for (AppendOrigin origin : List.of(AppendOrigin.CLIENT, AppendOrigin.COORDINATOR)) {
                boolean refused = origin == AppendOrigin.CLIENT ? minRacks > 1 && have < minRacks : held;
                assertEquals(refused ? Errors.NOT_ENOUGH_RACKS_AFTER_APPEND : Errors.NONE, span.checkAfterAppend(minRacks, isr, assignment, origin), context);
                if (refused)
                    assertThrows(NotEnoughRacksException.class, () -> span.checkAppend(minRacks, isr, assignment, assignment, origin, new MockTime()), context);
                else
                    span.checkAppend(minRacks, isr, assignment, assignment, origin, new MockTime());
            }
        }
    }

    @Test
    void theTextNamesPartitionRacksAndSetting() {
        assertEquals("Partition orders-3 has in-sync replicas [1, 2] in 1 rack(s) [a], but min.insync.racks is 2. " +
            "No replica is in sync in rack(s) [b, c].", span.shortage(2, List.of(1, 2), List.of(1, 2, 3, 4)));
        assertEquals("Partition orders-3 has in-sync replicas [1] in 1 rack(s) [a], but min.insync.racks is 3. " +
            "No replica is in sync in rack(s) [b]. The assignment [1, 3] spans 2 rack(s) only: reassign it to more racks, or lower the setting.",
            span.shortage(3, List.of(1), List.of(1, 3)));
    }

    @Test
    void aRequirementChangesWithTheSettingOrTheRacksButNotForTheDefault() {
        assertFalse(span.requirementChanged(0, 1));
        racks = BrokerRacks.of(Map.of(1, "x"));
        assertFalse(span.requirementChanged(0, 1), "racks do not matter to the default");
        assertTrue(span.requirementChanged(0, 2));
        assertFalse(span.requirementChanged(0, 2));
        racks = BrokerRacks.of(Map.of(1, "y"));
        assertTrue(span.requirementChanged(0, 2));
        assertFalse(span.requirementChanged(0, 2));
        assertTrue(span.requirementChanged(0, 1));
        assertFalse(span.requirementChanged(0, 1));
        assertTrue(span.requirementChanged(2, 1), "more replicas are required");
        assertFalse(span.requirementChanged(2, 1));
    }

    @Test
    void refusalsAreCountedIntoOneLineAPeriod() {
        RefusalLog log = new RefusalLog();
        assertEquals(1, log.refused(1000));
        for (int i = 0; i < 500; i++)
            assertEquals(0, log.refused(1000 + i));
        assertEquals(0, log.refused(1000 + RefusalLog.PERIOD_MS - 1));
        assertEquals(502, log.refused(1000 + RefusalLog.PERIOD_MS));
    }
}
