// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.EpochEntry;

import org.objenesis.ObjenesisStd;
import org.objenesis.instantiator.ObjectInstantiator;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** What of one replica outlives its broker's process: records, leader epochs, the checkpoint of the high watermark. */
final class Disk {

    /** A record: the number it was produced with, and the leader epoch in which it was appended. */
    record Entry(int record, int epoch) { }

    /** The file of leader epochs, kept in memory. It has no constructor that makes no file. */
    private static final class EpochFile extends LeaderEpochCheckpointFile {

        private static final ObjectInstantiator<EpochFile> NEW = new ObjenesisStd().getInstantiatorOf(EpochFile.class);

        private List<EpochEntry> entries;

        private EpochFile() throws java.io.IOException {
            super(null, null);
        }

        @Override
        public void write(Collection<EpochEntry> epochs) {
            entries = List.copyOf(epochs);
        }

        @Override
        public void writeIfDirExists(Collection<EpochEntry> epochs) {
            write(epochs);
        }

        @Override
        public List<EpochEntry> read() {
            return entries;
        }
    }

    private final EpochFile epochs = EpochFile.NEW.newInstance();
    final List<Entry> entries = new ArrayList<>();
    int flushed = 0;
    long checkpoint = 0;
    /** The broker epoch that a clean shutdown left, or -1. */
    long cleanEpoch = -1;
    boolean failed = false;

    Disk() {
        epochs.entries = List.of();
    }

    /** The leader epochs as a process that starts finds them. */
    LeaderEpochFileCache loadEpochs(TopicPartition partition) {
        LeaderEpochFileCache cache = new LeaderEpochFileCache(partition, epochs, Inline.SCHEDULER);
        cache.truncateFromEndAsyncFlush(entries.size());
        return cache;
    }

    void flush() {
        flushed = entries.size();
    }

    /** The power fails: of what was not flushed, only some is left. */
    void tear(int choice) {
        int lost = entries.size() - flushed;
        int left = flushed + (lost == 0 ? 0 : choice % (lost + 1));
        entries.subList(left, entries.size()).clear();
    }

    /** The replica is deleted. */
    void wipe() {
        entries.clear();
        epochs.entries = List.of();
        flushed = 0;
        checkpoint = 0;
    }
}
