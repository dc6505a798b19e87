// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import kafka.server.DefaultAlterPartitionManager;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.image.LocalReplicaChanges;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.metadata.BrokerHeartbeatReply;
import org.apache.kafka.metadata.KRaftMetadataCache;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpoints;
import org.apache.kafka.storage.internals.log.LogConfig;

import io.rackspan.metadata.EligibleSpan;

import java.util.List;
import java.util.Optional;

/**
 * A broker: its disk, and while it runs a real metadata cache and a real partition. It applies metadata in the order of
 * BrokerMetadataPublisher and ReplicaManager.
 */
final class Broker {

    final int id;
    final Disk disk = new Disk();
    final Fetcher fetcher;
    final Writes writes;
    /** Where it really is. */
    String place;
    /** The value of broker.rack; null if it is not set. */
    String rack;
    /** Its distribution does not know rackspan.version. */
    boolean stock;

    private final World world;
    private final Uuid directory;
    private final OffsetCheckpoints checkpoints;
    private int process = 0;
    private boolean running = false;
    private boolean shuttingDown = false;
    private long epoch = -1;
    private int position = 0;
    private MetadataImage image = MetadataImage.EMPTY;
    private MetadataLog.Update half;
    private KRaftMetadataCache cache;
    private DefaultAlterPartitionManager alterPartitions;
    private SimulatedPartition partition;
    private Settings settings = new Settings(1, 1);

    Broker(World world, int id, String rack, boolean stock) {
        this.world = world;
        this.id = id;
        this.rack = rack;
        this.place = rack;
        this.stock = stock;
        this.directory = new Uuid(7, id);
        this.fetcher = new Fetcher(world, this);
        this.writes = new Writes(world, this);
        this.checkpoints = (folder, name) -> Optional.of(disk.checkpoint);
    }

    boolean isRunning() {
        return running;
    }

    /** The number of the process that runs, for what may arrive after its end. */
    int process() {
        return running ? process : -1;
    }

    long epoch() {
        return epoch;
    }

    /** True if the controller has its registration and may elect it. */
    boolean isRegistered() {
        return running && world.controller.registration(id).epoch() == epoch;
    }

    /** The number of batches of metadata that it has read. */
    int position() {
        return position;
    }

    /** True if metadata is in its cache that its partition does not have. */
    boolean isHalf() {
        return half != null;
    }

    boolean hasAllMetadata() {
        return position == world.metadata.end() && half == null;
    }

    /** The partition; null if it has none, or none that is on a disk that works. */
    SimulatedPartition partition() {
        return partition;
    }

    boolean leads() {
        return running && partition != null && partition.isLeader();
    }

    MetadataImage image() {
        return image;
    }

    /** The replicas without those that a reassignment is adding. */
    List<Integer> original() {
        PartitionRegistration now = image.topics().getPartition(world.controller.topicId(), 0);
        return EligibleSpan.original(Replicas.toList(now.replicas), Replicas.toList(now.addingReplicas));
    }

    /** The epoch of a broker's registration, as this one knows it. */
    long registeredEpoch(int other) {
        return cache.registeredEpoch(other);
    }

    KRaftMetadataCache cache() {
        return cache;
    }

    /** The minimums that its log has. */
    Settings settings() {
        return settings;
    }

    /** Starts a process. Returns false, and the broker stays down, if its registration is refused. */
    boolean start() {
        long registered = world.controller.register(id, rack, new Uuid(process + 1, id), directory, disk.cleanEpoch,
            stock && !world.isBroken(Rule.STOCK_REFUSED));
        if (registered < 0)
            return false;
        process++;
        running = true;
        shuttingDown = false;
        disk.failed = false;
        epoch = registered;
        disk.cleanEpoch = -1;
        cache = Knockout.cache(world, this);
        alterPartitions = new DefaultAlterPartitionManager(new ControllerChannel(world, this), Inline.SCHEDULER, world.time, id, () -> epoch);
        image = MetadataImage.EMPTY;
        position = 0;
        half = null;
        catchUp(world.metadata.end());
        // A log of a partition that the broker has lost while it was down
        if (partition == null)
            disk.wipe();
        return true;
    }

    /** The process is shut down cleanly. */
    void stop() {
        if (partition != null) {
            disk.checkpoint = partition.memory().highWatermark();
            disk.flush();
        }
        if (!disk.failed)
            disk.cleanEpoch = epoch;
        end();
    }

    /** The process ends at once. */
    void end() {
        running = false;
        partition = null;
        half = null;
        fetcher.stop();
        writes.drop();
    }

    void flush() {
        disk.flush();
        disk.checkpoint = partition.memory().highWatermark();
    }

    /** The disk that holds the partition fails, another one still works. */
    void failDisk() {
        disk.failed = true;
        if (partition != null)
            partition.markOffline();
        partition = null;
        fetcher.stop();
        writes.drop();
        heartbeat();
    }

    void wantShutdown() {
        shuttingDown = true;
        heartbeat();
    }

    void heartbeat() {
        BrokerHeartbeatReply reply = world.controller.heartbeat(id, epoch, world.metadata.offset(position), shuttingDown,
            disk.failed ? List.of(directory) : List.of());
        if (reply != null && reply.shouldShutDown() && shuttingDown)
            stop();
    }

    /** Reads the metadata log up to a position, and applies it. */
    void catchUp(int to) {
        if (half != null)
            publishPartitions();
        else if (to > position) {
            publishCache(to);
            publishPartitions();
        }
    }

    /** The first part of publishing: the cache has the new image, partitions are as before. */
    void publishCache(int to) {
        if (half != null || to <= position)
            return;
        half = world.metadata.update(image, position, to);
        cache.setImage(half.image());
        image = half.image();
        position = half.position();
    }

    private void publishPartitions() {
        MetadataLog.Update update = half;
        if (update.delta().topicsDelta() != null && !disk.failed)
            applyTopics(update.delta().topicsDelta().localChanges(id));
        settings = Settings.of(update.image());
        half = null;
        if (partition != null && update.delta().configsDelta() != null)
            partition.memory().updateConfig(settings.logConfig());
        cache.settleBrokerRacks();
        if (partition == null)
            return;
        boolean changed = update.delta().configsDelta() != null || update.delta().clusterDelta() != null || update.delta().featuresDelta() != null;
        if (changed && !world.isBroken(Rule.CHANGES_WAKE))
            partition.maybeReevaluateRackSpan();
        writes.moveHighWatermark();
    }

    private void applyTopics(LocalReplicaChanges changes) {
        if (!changes.deletes().isEmpty() && partition != null) {
            fetcher.stop();
            partition.delete();
            partition = null;
            disk.wipe();
            writes.check();
        }
        changes.leaders().values().forEach(info -> lead(info.partition()));
        changes.followers().values().forEach(info -> follow(info.partition()));
    }

    private SimulatedPartition orCreate() {
        if (partition == null)
            partition = new SimulatedPartition(id, () -> epoch, world.controller.topicId(), world.time, cache, alterPartitions, disk,
                this::newLogConfig, writes::check);
        if (world.isBroken(Rule.STALE_METADATA))
            Knockout.forgetPartitionEpoch(partition);
        return partition;
    }

    private LogConfig newLogConfig() {
        settings = Settings.of(image);
        return settings.logConfig();
    }

    private void lead(PartitionRegistration registration) {
        fetcher.stop();
        orCreate();
        if (world.isBroken(Rule.MISSED_ELECTIONS) && partition.isLeader() && registration.leaderEpoch > partition.getLeaderEpoch())
            Knockout.missNoEpoch(partition, registration.leaderEpoch);
        if (world.isBroken(Rule.KNOWN_METADATA))
            Knockout.forgetProposal(partition);
        partition.makeLeader(registration, false, checkpoints, scala.Option.apply(world.controller.topicId()), scala.Option.empty());
        if (world.isBroken(Rule.ADDED_SERVE))
            partition.rackGates().assigned(List.of());
    }

    private void follow(PartitionRegistration registration) {
        boolean newEpoch = orCreate().makeFollower(registration, false, checkpoints, scala.Option.apply(world.controller.topicId()), scala.Option.empty());
        boolean inSync = java.util.Arrays.stream(registration.isr).anyMatch(member -> member == id);
        if (shuttingDown && (registration.leader < 0 || !inSync))
            fetcher.stop();
        else if (newEpoch)
            fetcher.start(registration.leader, registration.leaderEpoch);
        if (newEpoch)
            writes.check();
    }
}
