// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.NoOpRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.loader.LoaderManifest;
import org.apache.kafka.image.loader.MetadataLoader;
import org.apache.kafka.image.publisher.MetadataPublisher;
import org.apache.kafka.image.publisher.SnapshotGenerator;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.internals.MemoryBatchReader;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.fault.FaultHandler;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;

/** A node that starts takes a snapshot where a stock one in its place must not read the log that it has read. */
final class LevelsReadTest {

    private static final ApiMessage NOTHING = new NoOpRecord();
    private static final ApiMessage METADATA_VERSION = level(MetadataVersion.FEATURE_NAME, MetadataVersion.latestProduction().featureLevel());

    private final List<String> faults = new ArrayList<>();
    private final FaultHandler handler = (message, cause) -> {
        faults.add(message + ": " + cause);
        return new IllegalStateException(message, cause);
    };

    private static ApiMessage level(String feature, int level) {
        return new FeatureLevelRecord().setName(feature).setFeatureLevel((short) level);
    }

    private static ApiMessage racks(int level) {
        return level("rackspan.version", level);
    }

    /** The offsets of the snapshots that a node takes when it starts and reads a log of these records, one a batch. */
    private List<Long> snapshotsOf(ApiMessage... log) throws Exception {
        List<Long> taken = new ArrayList<>();
        try (MetadataLoader loader = new MetadataLoader.Builder().setFaultHandler(handler)
                .setHighWaterMarkAccessor(() -> OptionalLong.of(log.length)).build();
             SnapshotGenerator generator = new SnapshotGenerator.Builder(image -> taken.add(image.offset())).setFaultHandler(handler).build()) {
            Published last = new Published();
            loader.installPublishers(List.of(generator, last));
            for (int offset = 0; offset < log.length; offset++)
                loader.handleCommit(MemoryBatchReader.of(List.of(batch(offset, log[offset])), reader -> { }));
            last.done.get(30, TimeUnit.SECONDS);
        }
        assertEquals(List.of(), faults);
        return taken;
    }

    private static Batch<ApiMessageAndVersion> batch(long offset, ApiMessage record) {
        return Batch.data(offset, 1, 0, 100, List.of(new ApiMessageAndVersion(record, (short) 0)));
    }

    @Test
    void aLevelThatWasRaisedAndLoweredIsLeftBehind() throws Exception {
        assertEquals(List.of(4L), snapshotsOf(METADATA_VERSION, racks(1), NOTHING, racks(0), NOTHING));
    }

    @Test
    void alsoWhereItWasRaisedAndLoweredTwice() throws Exception {
        assertEquals(List.of(4L), snapshotsOf(METADATA_VERSION, racks(1), racks(0), racks(1), racks(0)));
    }

    @Test
    void aLevelInForceStays() throws Exception {
        assertEquals(List.of(), snapshotsOf(METADATA_VERSION, racks(1), NOTHING));
        assertEquals(List.of(), snapshotsOf(METADATA_VERSION, racks(1), racks(0), racks(1)));
    }

    @Test
    void aLogThatNeverHadOneIsReadAsOnStock() throws Exception {
        assertEquals(List.of(), snapshotsOf(METADATA_VERSION, NOTHING, NOTHING));
    }

    /** Installed after the generator: is initialised after it. */
    private static final class Published implements MetadataPublisher {

        private final CompletableFuture<Void> done = new CompletableFuture<>();

        @Override
        public String name() {
            return "Published";
        }

        @Override
        public void onMetadataUpdate(MetadataDelta delta, MetadataImage image, LoaderManifest manifest) {
            done.complete(null);
        }
    }
}
