// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.message.DescribeTopicPartitionsResponseData.DescribeTopicPartitionsResponsePartition;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.requests.DescribeTopicPartitionsResponse;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

final class LedgerTest {

    private static final String WHY = "to=1,from=2,since=2026-01-01T00:00:00Z,until=2026-01-02T00:00:00Z,by=User:a,reason=rack b is down";

    private static LedgerNote begins(long offset) {
        return LedgerNote.of(1, offset, 100).beginning(offset, 2, WHY);
    }

    private static LedgerNote ends(long offset, int racks) {
        return LedgerNote.of(racks, offset, 200).ending(offset);
    }

    /** As it is when a message with it has been sent. */
    private static Ledger sent(Ledger ledger) {
        DescribeTopicPartitionsResponsePartition message = ledger.into(new DescribeTopicPartitionsResponsePartition());
        return Ledger.in(new DescribeTopicPartitionsResponsePartition(MessageUtil.toByteBufferAccessor(message, (short) 0), (short) 0), Ledger.EMPTY);
    }

    @Test
    void aRangeBeginsAndEnds() {
        Ledger open = Ledger.EMPTY.with(begins(10));
        assertEquals("[10- 2 rack(s)]", open.toString());
        assertTrue(open.open().isOpen());
        Ledger closed = open.with(ends(25, 1));
        assertEquals("[10-25 2 rack(s)]", closed.toString());
        assertNull(closed.open());
        Ledger.Range range = closed.ranges().get(0);
        assertEquals(List.of(100L, 200L, WHY, 1), List.of(range.beganMs(), range.endedMs(), range.degrade(), range.joined()));
        assertEquals("[10-25 reached 2 rack(s)]", closed.with(LedgerNote.of(2, 25, 300)).toString());
        assertEquals("[10-25 reached 2 rack(s)]", open.with(ends(25, 2)).toString());
    }

    @Test
    void recordsAboveTheHighWatermarkAreNotInEnoughRacksYet() {
        Ledger closed = Ledger.EMPTY.with(begins(10)).with(LedgerNote.of(2, 20, 200).ending(25));
        assertEquals("[10-25 2 rack(s)]", closed.toString());
        assertEquals(closed, closed.with(LedgerNote.of(2, 24, 200)));
        assertTrue(closed.with(LedgerNote.of(2, 25, 200)).ranges().get(0).isReached());
    }

    @Test
    void aRangeInWhichNothingWasAcknowledgedIsNotKept() {
        assertEquals(Ledger.EMPTY, Ledger.EMPTY.with(begins(10)).with(ends(10, 1)));
    }

    @Test
    void aNoteThatArrivesTwiceChangesNothing() {
        Ledger open = Ledger.EMPTY.with(begins(10));
        assertEquals(open, open.with(begins(15)));
        Ledger closed = open.with(ends(25, 1));
        assertEquals(closed, closed.with(ends(30, 1)));
    }

    @Test
    void anotherDegradeBeginsARangeOfItsOwn() {
        Ledger both = Ledger.EMPTY.with(begins(10)).with(ends(25, 1).beginning(20, 3, WHY));
        assertEquals("[10-25 2 rack(s), 20- 3 rack(s)]", both.toString());
    }

    @Test
    void theOldestRangesBecomeOne() {
        Ledger ledger = Ledger.EMPTY;
        for (int i = 0; i < Ledger.MOST + 2; i++)
            ledger = ledger.with(begins(10L * i)).with(ends(10L * i + 5, 1));
        assertEquals(Ledger.MOST, ledger.ranges().size());
        assertEquals("0-25 2 rack(s)", ledger.ranges().get(0).toString());
        assertEquals(3, ledger.ranges().get(0).joined());
        assertEquals(ledger, sent(ledger));
    }

    /** Whatever is noted, in order or not: an offset that was in a range stays in one, and at most {@link Ledger#MOST} are kept. */
    @Test
    void whatWasInARangeStaysInOne() {
        for (int seed = 0; seed < 300; seed++) {
            Random random = new Random(seed);
            Ledger ledger = Ledger.EMPTY;
            List<Long> within = new ArrayList<>();
            long end = 0;
            for (int step = 0; step < 60; step++) {
                long from = end;
                end += random.nextInt(4);
                LedgerNote note = LedgerNote.of(1 + random.nextInt(3), end, step);
                if (random.nextBoolean())
                    note = note.ending(end);
                if (random.nextBoolean())
                    note = note.beginning(end, 2 + random.nextInt(2), WHY);
                if (ledger.open() != null)
                    for (long offset = Math.max(from, ledger.open().from()); offset < end; offset++)
                        within.add(offset);
                ledger = ledger.with(note);
                Ledger now = ledger;
                assertTrue(now.ranges().size() <= Ledger.MOST);
                for (long offset : within)
                    assertTrue(now.ranges().stream().anyMatch(range -> range.from() <= offset && (range.isOpen() || offset < range.to())),
                        () -> "seed " + now + " lacks " + offset);
                assertEquals(now, sent(now));
            }
        }
    }

    @Test
    void aNoteIsSentComplete() {
        for (LedgerNote note : List.of(begins(7), ends(9, 3), ends(9, 3).beginning(8, 2, WHY), LedgerNote.of(4, 5, 6))) {
            DescribeTopicPartitionsResponsePartition message = new DescribeTopicPartitionsResponsePartition();
            LedgerNote.into(note, message);
            LedgerNote read = LedgerNote.in(message);
            assertEquals(note.toString(), read.toString());
            Ledger open = Ledger.EMPTY.with(begins(1));
            assertEquals(open.with(note), open.with(read));
        }
        assertNull(LedgerNote.in(new DescribeTopicPartitionsResponsePartition()));
    }

    @Test
    void aPartitionWithoutOneHasNoField() {
        DescribeTopicPartitionsResponsePartition plain = new DescribeTopicPartitionsResponsePartition();
        assertEquals(List.of(), Ledger.EMPTY.into(plain).unknownTaggedFields());
        assertEquals(Ledger.EMPTY, Ledger.in(plain, Ledger.EMPTY));
        assertEquals(Ledger.EMPTY, Ledger.in(Ledger.EMPTY.intoChange(plain), Ledger.EMPTY.with(begins(1))), "an empty one replaces another");
    }

    @Test
    void aFieldThatCannotBeReadLeavesTheLedgerAsItIs() {
        Ledger known = Ledger.EMPTY.with(begins(1));
        for (byte[] field : List.of(new byte[0], new byte[] {9}, new byte[] {0, 1, 2})) {
            DescribeTopicPartitionsResponsePartition message = new DescribeTopicPartitionsResponsePartition();
            message.unknownTaggedFields().add(new RawTaggedField(Ledger.TAG, field));
            assertSame(known, Ledger.in(message, known));
        }
    }

    @Test
    void theAdminClientHasIt() {
        Ledger ledger = Ledger.EMPTY.with(begins(3));
        TopicPartitionInfo with = DescribeTopicPartitionsResponse.partitionToTopicPartitionInfo(ledger.into(partition()), Map.of());
        TopicPartitionInfo without = DescribeTopicPartitionsResponse.partitionToTopicPartitionInfo(partition(), Map.of());
        assertEquals(ledger, DescribedPartition.ledgerOf(with));
        assertEquals(List.of(1, 2), with.replicas().stream().map(node -> node.id()).toList());
        assertEquals(Ledger.EMPTY, DescribedPartition.ledgerOf(without));
        assertFalse(without instanceof DescribedPartition);
    }

    private static DescribeTopicPartitionsResponsePartition partition() {
        return new DescribeTopicPartitionsResponsePartition().setReplicaNodes(List.of(1, 2)).setIsrNodes(List.of(1)).setEligibleLeaderReplicas(List.of()).setLastKnownElr(List.of());
    }
}
