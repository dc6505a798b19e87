// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionRequestData.PartitionData;
import org.apache.kafka.common.message.DescribeTopicPartitionsResponseData.DescribeTopicPartitionsResponsePartition;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.types.RawTaggedField;

import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

final class ElectableTest {

    private static final short CHANGE = PartitionChangeRecord.HIGHEST_SUPPORTED_VERSION;
    private static final short ALTER = ApiKeys.ALTER_PARTITION.latestVersion();
    private static final Electable KNOWN = Electable.of(List.of(7, 8));
    private static final Ledger LEDGER = Ledger.EMPTY.with(LedgerNote.of(1, 5, 100).beginning(5, 2,
        "to=1,from=2,since=2026-01-01T00:00:00Z,until=2026-01-02T00:00:00Z,by=User:a,reason=x"));

    private static PartitionChangeRecord sent(PartitionChangeRecord record) {
        return new PartitionChangeRecord(MessageUtil.toByteBufferAccessor(record, CHANGE), CHANGE);
    }

    private static byte[] field(Message message) {
        return Tags.find(message, Electable.TAG);
    }

    private static PartitionChangeRecord with(byte[] field) {
        PartitionChangeRecord record = new PartitionChangeRecord();
        record.unknownTaggedFields().add(new RawTaggedField(Electable.TAG, field));
        return record;
    }

    @Test
    void membersAreOrderedAndCountOnce() {
        assertEquals(List.of(1, 2, 9), Electable.of(List.of(9, 1, 2, 1)).members());
        assertEquals(Electable.of(List.of(2, 1)), Electable.of(Set.of(1, 2)));
        assertEquals(Electable.of(List.of(2, 1)).hashCode(), Electable.of(List.of(1, 2)).hashCode());
        assertSame(Electable.NONE, Electable.of(List.of()));
        assertThrows(UnsupportedOperationException.class, () -> KNOWN.members().remove(0));
    }

    @Test
    void aMarkedMemberMayNotLead() {
        Electable marked = Electable.of(List.of(1, 2, 3)).withUnclean(2);
        assertEquals(List.of(true, false, true, false), List.of(marked.mayLead(1), marked.mayLead(2), marked.mayLead(3), marked.mayLead(4)));
        assertEquals(List.of(1, 2, 3), marked.members());
        assertSame(marked, marked.withUnclean(2), "it is marked already");
        assertSame(marked, marked.withUnclean(4), "it is no member");
        assertEquals(List.of(1, 2), marked.withUnclean(1).unclean());
        assertNotEquals(Electable.of(List.of(1, 2, 3)), marked);
        assertEquals("[1, 2, 3] with unclean [2]", marked.toString());
    }

    @Test
    void aSetIsLostWhenEveryMemberIsMarked() {
        assertFalse(Electable.NONE.isLost());
        assertFalse(Electable.of(List.of(1, 2)).withUnclean(1).isLost());
        assertTrue(Electable.of(List.of(1, 2)).withUnclean(2).withUnclean(1).isLost());
    }

    @Test
    void withinKeepsTheMembersThatRemainAndTheirMarks() {
        Electable marked = Electable.of(List.of(1, 2, 3)).withUnclean(2).withUnclean(3);
        assertSame(marked, marked.within(List.of(4, 3, 2, 1)));
        assertEquals("[1, 2] with unclean [2]", marked.within(List.of(1, 2)).toString());
        assertEquals("[1]", marked.within(List.of(1, 4)).toString());
        assertTrue(marked.within(List.of(3)).isLost());
        assertSame(Electable.NONE, marked.within(List.of(4)));
        assertSame(Electable.NONE, Electable.NONE.within(List.of()));
    }

    @Test
    void anySetIsReadAsItWasWritten() {
        Random random = new Random(1);
        for (int i = 0; i < 500; i++) {
            Electable set = Electable.of(random.ints(random.nextInt(40), 0, random.nextBoolean() ? 9 : Integer.MAX_VALUE).boxed().toList());
            for (int member : set.members())
                if (random.nextInt(3) == 0)
                    set = set.withUnclean(member);
            PartitionChangeRecord read = sent(set.intoChange(new PartitionChangeRecord()));
            assertEquals(set, Electable.in(read, KNOWN));
            assertEquals(set, Electable.in(set.into(new PartitionRecord()), Electable.NONE));
        }
    }

    @Test
    void aPartitionWithoutOneHasNoField() {
        PartitionRecord plain = new PartitionRecord();
        assertSame(plain, Electable.NONE.into(plain));
        assertEquals(List.of(), plain.unknownTaggedFields());
        assertSame(Electable.NONE, Electable.in(plain, Electable.NONE));
    }

    @Test
    void aChangeWithoutTheFieldLeavesTheSetAndOneWithAnEmptySetEmptiesIt() {
        assertSame(KNOWN, Electable.in(sent(new PartitionChangeRecord()), KNOWN));
        assertSame(Electable.NONE, Electable.in(sent(Electable.NONE.intoChange(new PartitionChangeRecord())), KNOWN));
        PartitionData proposal = new PartitionData();
        Electable.into(null, proposal);
        assertSame(KNOWN, Electable.in(proposal, KNOWN));
        Electable.into(Electable.NONE, proposal);
        assertSame(Electable.NONE, Electable.in(proposal, KNOWN));
    }

    @Test
    void aNewerFormAndABrokenOneLeaveTheSetAsItIs() {
        byte[] written = field(Electable.of(List.of(1, 2)).withUnclean(1).intoChange(new PartitionChangeRecord()));
        byte[] newer = written.clone();
        newer[0]++;
        assertSame(KNOWN, Electable.in(with(newer), KNOWN));
        for (int length = 0; length < written.length; length++)
            assertSame(KNOWN, Electable.in(with(Arrays.copyOf(written, length)), KNOWN), length + " bytes");
        byte[] longer = Arrays.copyOf(written, written.length + 3);
        assertEquals("[1, 2] with unclean [1]", Electable.in(with(longer), KNOWN).toString(), "what a later distribution appends is not read");
    }

    /** Whoever sends it: a set that is read is in order, without duplicates, and marks only members. */
    @Test
    void aFieldThatNobodyOfOursWritesIsNotTakenAsItIs() {
        assertEquals(Electable.of(List.of(1, 2)), Electable.in(with(bytes(new int[] {2, 1, 2}, new int[0])), KNOWN));
        Electable foreign = Electable.in(with(bytes(new int[] {1, 2}, new int[] {5, 6})), KNOWN);
        assertEquals("[1, 2]", foreign.toString());
        assertFalse(foreign.isLost());
        for (int count : new int[] {-1, Short.MIN_VALUE, Short.MAX_VALUE}) {
            ByteBuffer field = ByteBuffer.wrap(bytes(new int[] {1, 2}, new int[0]));
            field.putShort(1, (short) count);
            assertSame(KNOWN, Electable.in(with(field.array()), KNOWN), "count " + count);
        }
    }

    private static byte[] bytes(int[] members, int[] unclean) {
        ByteBuffer field = ByteBuffer.allocate(5 + 4 * (members.length + unclean.length)).put((byte) 0).putShort((short) members.length);
        Arrays.stream(members).forEach(field::putInt);
        field.putShort((short) unclean.length);
        Arrays.stream(unclean).forEach(field::putInt);
        return field.array();
    }

    @Test
    void itIsWrittenAnewNotTwice() {
        PartitionChangeRecord record = KNOWN.intoChange(new PartitionChangeRecord());
        assertEquals(1, Electable.of(List.of(3)).intoChange(record).unknownTaggedFields().size());
        assertEquals(Electable.of(List.of(3)), Electable.in(sent(record), Electable.NONE));
    }

    /** Fields have to be written in the order of their tags. */
    @Test
    void itIsBesideALedgerInAnyOrder() {
        PartitionChangeRecord first = KNOWN.intoChange(LEDGER.intoChange(new PartitionChangeRecord()));
        PartitionChangeRecord last = LEDGER.intoChange(KNOWN.intoChange(new PartitionChangeRecord()));
        for (PartitionChangeRecord record : List.of(first, last)) {
            record.setTopicId(Uuid.ONE_UUID).setIsr(List.of(7, 8)).setEligibleLeaderReplicas(List.of(9));
            assertEquals(List.of(Ledger.TAG, Electable.TAG), record.unknownTaggedFields().stream().map(RawTaggedField::tag).toList());
            PartitionChangeRecord read = sent(record);
            assertEquals(KNOWN, Electable.in(read, Electable.NONE));
            assertEquals(LEDGER, Ledger.in(read, Ledger.EMPTY));
            assertEquals(List.of(9), read.eligibleLeaderReplicas());
        }
        assertEquals(first, last);
    }

    @Test
    void aProposalHasItBesideANote() {
        for (boolean noteFirst : new boolean[] {true, false}) {
            PartitionData data = new PartitionData().setNewIsrWithEpochs(List.of(new AlterPartitionRequestData.BrokerState().setBrokerId(7).setBrokerEpoch(70)));
            if (!noteFirst)
                Electable.into(KNOWN, data);
            LedgerNote.into(LedgerNote.of(2, 9, 10).ending(9), data);
            if (noteFirst)
                Electable.into(KNOWN, data);
            AlterPartitionRequestData request = new AlterPartitionRequestData();
            AlterPartitionRequestData.TopicData topic = new AlterPartitionRequestData.TopicData().setTopicId(Uuid.ONE_UUID);
            topic.partitions().add(data);
            request.topics().add(topic);
            AlterPartitionRequestData read = new AlterPartitionRequestData(MessageUtil.toByteBufferAccessor(request, ALTER), ALTER);
            PartitionData partition = read.topics().get(0).partitions().get(0);
            assertEquals(KNOWN, Electable.in(partition, Electable.NONE));
            assertEquals(LedgerNote.of(2, 9, 10).ending(9).toString(), LedgerNote.in(partition).toString());
            assertEquals(7, partition.newIsrWithEpochs().get(0).brokerId());
        }
    }

    @Test
    void anAnswerOfDescribeMayHaveBoth() {
        DescribeTopicPartitionsResponsePartition message = LEDGER.into(KNOWN.into(new DescribeTopicPartitionsResponsePartition()));
        DescribeTopicPartitionsResponsePartition read = new DescribeTopicPartitionsResponsePartition(MessageUtil.toByteBufferAccessor(message, (short) 0), (short) 0);
        assertEquals(KNOWN, Electable.in(read, Electable.NONE));
        assertEquals(LEDGER, Ledger.in(read, Ledger.EMPTY));
    }
}
