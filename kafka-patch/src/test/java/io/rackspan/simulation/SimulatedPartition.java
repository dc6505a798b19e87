// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import kafka.cluster.DelayedOperations;
import kafka.cluster.Partition;
import kafka.server.AlterPartitionManager;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.KafkaStorageException;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.MetadataCache;
import org.apache.kafka.server.partition.AlterPartitionListener;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpoints;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;

import org.apache.kafka.controller.SimulatedController;

import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** The real partition, with its log in memory. */
final class SimulatedPartition extends Partition {

    static final TopicPartition NAME = new TopicPartition(SimulatedController.TOPIC, 0);
    static final long LAG_MS = 10_000;

    private static final AlterPartitionListener NO_METRICS = new AlterPartitionListener() {
        @Override
        public void markIsrExpand() { }

        @Override
        public void markIsrShrink() { }

        @Override
        public void markFailed() { }
    };

    /** Waiting requests are the broker's, not in purgatories. */
    private static final class Operations extends DelayedOperations {

        private final Runnable check;

        private Operations(Runnable check) {
            super(scala.Option.empty(), NAME, null, null, null, null);
            this.check = check;
        }

        @Override
        public void checkAndCompleteAll() {
            check.run();
        }

        @Override
        public void checkAndCompleteProduce() {
            check.run();
        }

        @Override
        public int numDelayedDelete() {
            return 0;
        }
    }

    private final Disk disk;
    private final Uuid id;
    private final Supplier<LogConfig> settings;

    SimulatedPartition(int broker, LongSupplier brokerEpoch, Uuid topicId, Time time, MetadataCache cache, AlterPartitionManager alterPartitions,
            Disk disk, Supplier<LogConfig> settings, Runnable checkWaiting) {
        super(NAME, LAG_MS, broker, brokerEpoch::getAsLong, time, NO_METRICS, new Operations(checkWaiting), cache, null, alterPartitions, scala.Option.apply(topicId));
        this.disk = disk;
        this.id = topicId;
        this.settings = settings;
    }

    @Override
    public UnifiedLog createLog(boolean isNew, boolean isFuture, OffsetCheckpoints checkpoints, scala.Option<Uuid> topicId, scala.Option<Uuid> directory) {
        if (disk.failed)
            throw new KafkaStorageException("the disk has failed");
        MemoryLog opened = MemoryLog.open(disk, NAME, id, settings.get());
        opened.updateHighWatermark(disk.checkpoint);
        return opened;
    }

    MemoryLog memory() {
        return (MemoryLog) localLogOrException();
    }
}
