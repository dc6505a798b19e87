// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.LogOffsetsListener;
import org.apache.kafka.storage.internals.log.RecordValidationStats;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;

import org.objenesis.ObjenesisStd;
import org.objenesis.instantiator.ObjectInstantiator;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Optional;

/**
 * A log without files, as far as Partition uses one: offsets, the high watermark and the leader epochs obey the rules of UnifiedLog,
 * with its own cache of epochs. A record is a batch, and the record's timestamp is its number. The constructor never runs, since that
 * of UnifiedLog needs a folder.
 */
final class MemoryLog extends UnifiedLog {

    private static final ObjectInstantiator<MemoryLog> NEW = new ObjenesisStd().getInstantiatorOf(MemoryLog.class);
    private static final byte[] VALUE = {1};

    private Disk disk;
    private Uuid id;
    private LogConfig settings;
    private LogOffsetMetadata end;
    private LogOffsetMetadata mark;
    private LeaderEpochFileCache epochs;

    private MemoryLog() throws IOException {
        super(0, null, null, 0, null, null, Optional.empty(), false, LogOffsetsListener.NO_OP_OFFSETS_LISTENER);
    }

    static MemoryLog open(Disk disk, TopicPartition partition, Uuid topicId, LogConfig settings) {
        MemoryLog log = NEW.newInstance();
        log.disk = disk;
        log.id = topicId;
        log.settings = settings;
        log.mark = metadata(0);
        log.epochs = disk.loadEpochs(partition);
        log.moveEnd();
        return log;
    }

    static MemoryRecords records(int number) {
        return MemoryRecords.withRecords(Compression.NONE, new SimpleRecord(number, VALUE));
    }

    private static LogOffsetMetadata metadata(long offset) {
        return new LogOffsetMetadata(offset, 0, (int) offset);
    }

    private void moveEnd() {
        end = metadata(disk.entries.size());
    }

    private void append(int record, int epoch) {
        epochs.assign(epoch, disk.entries.size());
        disk.entries.add(new Disk.Entry(record, epoch));
    }

    private LogAppendInfo info(long first) {
        return new LogAppendInfo(first, end.messageOffset - 1, Optional.empty(), 0, RecordBatch.NO_TIMESTAMP, 0, RecordValidationStats.EMPTY,
            CompressionType.NONE, 1, end.messageOffset - 1);
    }

    @Override
    public LogAppendInfo appendAsLeader(MemoryRecords records, int leaderEpoch, AppendOrigin origin, RequestLocal requestLocal,
            VerificationGuard verificationGuard, short transactionVersion) {
        long first = end.messageOffset;
        for (RecordBatch batch : records.batches())
            append((int) batch.maxTimestamp(), leaderEpoch);
        moveEnd();
        return info(first);
    }

    @Override
    public LogAppendInfo appendAsFollower(MemoryRecords records, int leaderEpoch) {
        long first = end.messageOffset;
        for (RecordBatch batch : records.batches()) {
            if (batch.baseOffset() != disk.entries.size())
                throw new IllegalStateException("offset " + batch.baseOffset() + " cannot follow " + disk.entries.size() + " records");
            append((int) batch.maxTimestamp(), batch.partitionLeaderEpoch());
        }
        moveEnd();
        return info(first);
    }

    /** Returns up to maxLength records, one being a byte long here. */
    @Override
    public FetchDataInfo read(long startOffset, int maxLength, FetchIsolation isolation, boolean minOneMessage) {
        if (startOffset > end.messageOffset)
            throw new org.apache.kafka.common.errors.OffsetOutOfRangeException("offset " + startOffset + " of " + end.messageOffset);
        int from = (int) startOffset;
        int to = (int) Math.min(end.messageOffset, startOffset + maxLength);
        if (from == to)
            return new FetchDataInfo(metadata(startOffset), MemoryRecords.EMPTY);
        ByteBuffer buffer = ByteBuffer.allocate((to - from) * 80);
        for (int offset = from; offset < to; offset++) {
            Disk.Entry entry = disk.entries.get(offset);
            MemoryRecords records = records(entry.record());
            for (MutableRecordBatch batch : records.batches()) {
                batch.setLastOffset(offset);
                batch.setPartitionLeaderEpoch(entry.epoch());
            }
            buffer.put(records.buffer());
        }
        buffer.flip();
        return new FetchDataInfo(metadata(startOffset), MemoryRecords.readableRecords(buffer));
    }

    @Override
    public boolean truncateTo(long targetOffset) {
        if (targetOffset >= end.messageOffset) {
            epochs.truncateFromEndAsyncFlush(end.messageOffset);
            return false;
        }
        disk.entries.subList((int) targetOffset, disk.entries.size()).clear();
        disk.flushed = Math.min(disk.flushed, disk.entries.size());
        epochs.truncateFromEndAsyncFlush(targetOffset);
        moveEnd();
        if (mark.messageOffset > targetOffset)
            mark = end;
        return true;
    }

    @Override
    public long updateHighWatermark(LogOffsetMetadata proposed) {
        mark = proposed.messageOffset < 0 ? metadata(0) : proposed.messageOffset >= end.messageOffset ? end : proposed;
        return mark.messageOffset;
    }

    @Override
    public long updateHighWatermark(long offset) {
        return updateHighWatermark(metadata(offset));
    }

    @Override
    public Optional<Long> maybeUpdateHighWatermark(long offset) {
        long before = mark.messageOffset;
        long now = updateHighWatermark(offset);
        return now == before ? Optional.empty() : Optional.of(now);
    }

    @Override
    public Optional<LogOffsetMetadata> maybeIncrementHighWatermark(LogOffsetMetadata proposed) {
        if (proposed.messageOffset > end.messageOffset)
            throw new IllegalArgumentException("high watermark " + proposed + " is above the log end " + end);
        if (proposed.messageOffset <= mark.messageOffset)
            return Optional.empty();
        LogOffsetMetadata before = mark;
        mark = proposed;
        return Optional.of(before);
    }

    @Override
    public void assignEpochStartOffset(int leaderEpoch, long startOffset) {
        epochs.assign(leaderEpoch, startOffset);
    }

    @Override
    public Optional<OffsetAndEpoch> endOffsetForEpoch(int leaderEpoch) {
        Map.Entry<Integer, Long> found = epochs.endOffsetFor(leaderEpoch, end.messageOffset);
        return found.getValue() < 0 ? Optional.empty() : Optional.of(new OffsetAndEpoch(found.getValue(), found.getKey()));
    }

    @Override
    public Optional<Integer> latestEpoch() {
        return epochs.latestEpoch();
    }

    @Override
    public LogConfig config() {
        return settings;
    }

    @Override
    public LogConfig updateConfig(LogConfig newConfig) {
        LogConfig before = settings;
        settings = newConfig;
        return before;
    }

    @Override
    public long highWatermark() {
        return mark.messageOffset;
    }

    @Override
    public long logEndOffset() {
        return end.messageOffset;
    }

    @Override
    public LogOffsetMetadata logEndOffsetMetadata() {
        return end;
    }

    @Override
    public long logStartOffset() {
        return 0;
    }

    @Override
    public long lastStableOffset() {
        return mark.messageOffset;
    }

    @Override
    public Optional<Uuid> topicId() {
        return Optional.of(id);
    }

    @Override
    public void setLogOffsetsListener(LogOffsetsListener listener) { }

    @Override
    public String parentDir() {
        return "memory";
    }

    @Override
    public String toString() {
        return disk.entries + ", high watermark " + mark.messageOffset;
    }
}
