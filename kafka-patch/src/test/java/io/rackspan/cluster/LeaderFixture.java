// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import kafka.cluster.Partition;
import kafka.coordinator.transaction.TransactionCoordinator;
import kafka.log.LogManager;
import kafka.server.BrokerConfigHandler;
import kafka.server.ConfigHandler;
import kafka.server.DynamicLogConfig;
import kafka.server.KafkaConfig;
import kafka.server.QuotaFactory;
import kafka.server.ReplicaManager;
import kafka.server.TopicConfigHandler;
import kafka.server.builders.LogManagerBuilder;
import kafka.server.builders.ReplicaManagerBuilder;
import kafka.server.metadata.BrokerMetadataPublisher;
import kafka.server.metadata.DynamicConfigPublisher;
import kafka.server.share.SharePartitionManager;
import kafka.utils.TestUtils;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.coordinator.share.ShareCoordinator;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.loader.LogDeltaManifest;
import org.apache.kafka.metadata.KRaftMetadataCache;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.metadata.publisher.AclPublisher;
import org.apache.kafka.metadata.publisher.DelegationTokenPublisher;
import org.apache.kafka.metadata.publisher.DynamicClientQuotaPublisher;
import org.apache.kafka.metadata.publisher.DynamicTopicClusterQuotaPublisher;
import org.apache.kafka.metadata.publisher.ScramPublisher;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.config.ConfigType;
import org.apache.kafka.server.fault.FaultHandler;
import org.apache.kafka.server.partition.PendingPartitionChange;
import org.apache.kafka.server.replica.Replica;
import org.apache.kafka.server.util.MockTime;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.CleanerConfig;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

import io.rackspan.protocol.Electable;
import io.rackspan.protocol.Ledger;

import java.io.File;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;

import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.Mockito.mock;

/**
 * Broker 1 of a cluster with real metadata cache, publisher, replica manager and logs. Followers are played by the test; metadata
 * records are replayed as the broker would get them from the controller. Time does not pass unless a test moves it.
 */
final class LeaderFixture implements AutoCloseable {

    static final String TOPIC = "orders";
    static final TopicPartition TP = new TopicPartition(TOPIC, 0);
    static final int REPLICA_LAG_MS = 30_000;

    final MockTime time = new MockTime();
    final KRaftMetadataCache cache = new KRaftMetadataCache(1, () -> KRaftVersion.LATEST_PRODUCTION);
    final TestUtils.MockAlterPartitionManager alterPartition = TestUtils.createAlterIsrManager();
    final ReplicaManager replicas;
    final List<Throwable> faults = new CopyOnWriteArrayList<>();

    /** Runs in each request after its append. */
    Runnable afterAppend = () -> { };

    private final Uuid topicId = Uuid.randomUuid();
    private final Metrics metrics = new Metrics();
    private final LogManager logs;
    private final QuotaFactory.QuotaManagers quotas;
    private final BrokerMetadataPublisher publisher;
    private final File logDir = org.apache.kafka.test.TestUtils.tempDirectory();
    private final List<File> logDirs = List.of(new File(logDir, "disk1"), new File(logDir, "disk2"));
    private MetadataImage image = MetadataImage.EMPTY;
    private int partitionEpoch = 0;
    private boolean diskFailed = false;
    private long offset = 0;

    LeaderFixture(Map<String, String> brokerSettings) throws Exception {
        // Gauges of an earlier broker in this JVM would answer in place of this one's
        TestUtils.clearYammerMetrics();
        Map<String, String> settings = new HashMap<>(Map.of(
            "process.roles", "broker", "node.id", "1", "controller.listener.names", "CONTROLLER",
            "controller.quorum.voters", "100@127.0.0.1:9093", "listeners", "PLAINTEXT://127.0.0.1:0", "broker.rack", "a",
            "log.dirs", logDirs.get(0) + "," + logDirs.get(1), "metadata.log.dir", logDir + "/metadata", "replica.lag.time.max.ms", "" + REPLICA_LAG_MS));
        settings.putAll(brokerSettings);
        KafkaConfig config = new KafkaConfig(settings);
        config.dynamicConfig().initialize(scala.Option.empty());
        LogDirFailureChannel failures = new LogDirFailureChannel(1);
        BrokerTopicStats stats = new BrokerTopicStats();
        logs = new LogManagerBuilder()
            .setLogDirs(logDirs)
            .setConfigRepository(cache)
            .setInitialDefaultConfig(new LogConfig(config.extractLogConfigMap()))
            .setCleanerConfig(new CleanerConfig(false))
            .setScheduler(time.scheduler)
            .setTime(time)
            .setBrokerTopicStats(stats)
            .setLogDirFailureChannel(failures)
            .build();
        quotas = QuotaFactory.instantiate(config, metrics, time, "", "test");
        replicas = new ReplicaManagerBuilder()
            .setConfig(config)
            .setMetrics(metrics)
            .setTime(time)
            .setScheduler(time.scheduler)
            .setLogManager(logs)
            .setQuotaManagers(quotas)
            .setMetadataCache(cache)
            .setLogDirFailureChannel(failures)
            .setAlterPartitionManager(alterPartition)
            .setBrokerTopicStats(stats)
            .build();
        config.dynamicConfig().addBrokerReconfigurable(new DynamicLogConfig(logs, replicas.directoryEventHandler()));
        FaultHandler faultHandler = (message, cause) -> {
            faults.add(cause);
            return new RuntimeException(message, cause);
        };
        Map<ConfigType, ConfigHandler> handlers = Map.of(
            ConfigType.TOPIC, new TopicConfigHandler(replicas, config, quotas),
            ConfigType.BROKER, new BrokerConfigHandler(config, quotas));
        publisher = new BrokerMetadataPublisher(config, cache, logs, replicas, mock(GroupCoordinator.class),
            mock(TransactionCoordinator.class), mock(ShareCoordinator.class), mock(SharePartitionManager.class),
            new DynamicConfigPublisher(config, faultHandler, scala.collection.immutable.Map.from(CollectionConverters.asScala(handlers)), "broker"),
            mock(DynamicClientQuotaPublisher.class), mock(DynamicTopicClusterQuotaPublisher.class), mock(ScramPublisher.class),
            mock(DelegationTokenPublisher.class), mock(AclPublisher.class), faultHandler, faultHandler);
        publish(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME).setFeatureLevel(MetadataVersion.latestProduction().featureLevel()), level(1));
    }

    /** The record that sets the level of rackspan.version, which is 1 when the broker starts. */
    static FeatureLevelRecord level(int level) {
        return new FeatureLevelRecord().setName("rackspan.version").setFeatureLevel((short) level);
    }

    /** Registers brokers, unfenced, in these racks; null is no rack. Broker ids count from 1. */
    void brokers(String... racks) {
        ApiMessage[] records = new ApiMessage[racks.length];
        for (int i = 0; i < racks.length; i++)
            records[i] = broker(i + 1, racks[i], 1);
        publish(records);
    }

    static RegisterBrokerRecord broker(int id, String rack, long epoch) {
        RegisterBrokerRecord record = new RegisterBrokerRecord().setBrokerId(id).setBrokerEpoch(epoch).setRack(rack)
            .setFenced(false).setLogDirs(List.of(Uuid.randomUuid()));
        record.endPoints().add(new RegisterBrokerRecord.BrokerEndpoint()
            .setName("PLAINTEXT").setHost("127.0.0.1").setPort(9000 + id).setSecurityProtocol((short) 0));
        return record;
    }

    /** Creates the topic with one partition that broker 1 leads, all of these replicas in sync. */
    Partition lead(List<Integer> replicaIds, Map<String, String> topicConfig) {
        List<ApiMessage> records = new ArrayList<>();
        records.add(new TopicRecord().setName(TOPIC).setTopicId(topicId));
        records.add(partitionRecord(topicId, 0, replicaIds));
        topicConfig.forEach((name, value) -> records.add(config(ConfigResource.Type.TOPIC, TOPIC, name, value)));
        publish(records.toArray(ApiMessage[]::new));
        return partition();
    }

    Partition partition() {
        return replicas.getPartitionOrException(TP);
    }

    static ConfigRecord config(ConfigResource.Type type, String resource, String name, String value) {
        return new ConfigRecord().setResourceType(type.id()).setResourceName(resource).setName(name).setValue(value);
    }

    void topicConfig(String name, String value) {
        publish(config(ConfigResource.Type.TOPIC, TOPIC, name, value));
    }

    /** The controller changes the in-sync replicas, as it does when it fences a broker. */
    void controllerChangesIsr(List<Integer> isr) {
        partitionEpoch++;
        publish(new PartitionChangeRecord().setTopicId(topicId).setPartitionId(0).setIsr(isr));
    }

    /** The leader itself removes followers that lag, and the controller agrees. */
    void leaderShrinksIsr() {
        time.sleep(REPLICA_LAG_MS + 1);
        partition().maybeShrinkIsr();
        alterPartition.completeIsrUpdate(++partitionEpoch);
    }

    /** The leader proposes to remove followers that have not caught up for long; the controller has not answered yet. */
    void leaderProposesShrink() {
        time.sleep(REPLICA_LAG_MS + 1);
        partition().maybeShrinkIsr();
    }

    /** The controller answers the proposal that is under way, if one is; when it agrees, by the metadata first. */
    void controllerAnswers(boolean agrees) {
        if (alterPartition.isrUpdates().isEmpty())
            return;
        if (agrees && partition().partitionState() instanceof PendingPartitionChange proposal)
            controllerChangesIsr(List.copyOf(proposal.sentLeaderAndIsr().isr()));
        alterPartition.failIsrUpdate(Errors.INELIGIBLE_REPLICA);
    }

    /** The ledger of the partition, as the metadata has it. */
    Ledger ledger() {
        return image.topics().getPartition(topicId, 0).ledger;
    }

    /** The controller accepts the proposal that is under way, with its note and its electable set. The leader has the answer first, then the metadata. */
    void controllerNotes() {
        controllerNotesLate().run();
    }

    /** The same, with the answer only; the result brings the metadata. */
    Runnable controllerNotesLate() {
        LeaderAndIsr proposed = alterPartition.isrUpdates().head().leaderAndIsr();
        PartitionChangeRecord change = new PartitionChangeRecord().setTopicId(topicId).setPartitionId(0).setIsr(List.copyOf(proposed.isr()));
        if (proposed.note() != null)
            ledger().with(proposed.note()).intoChange(change);
        Electable.into(proposed.electable(), change);
        alterPartition.completeIsrUpdate(++partitionEpoch);
        return () -> publish(change);
    }

    void publish(ApiMessage... records) {
        update(records).run();
    }

    /** Begins to publish: the cache has the new metadata, partitions have not. The result does the rest. */
    Runnable publishing(ApiMessage... records) {
        Runnable rest = update(records);
        cache.setImage(image);
        return rest;
    }

    private Runnable update(ApiMessage... records) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        for (ApiMessage record : records)
            delta.replay(record);
        MetadataProvenance provenance = new MetadataProvenance(++offset, 1, time.milliseconds(), true);
        image = delta.apply(provenance);
        MetadataImage updated = image;
        return () -> publisher.onMetadataUpdate(delta, updated, new LogDeltaManifest.Builder().provenance(provenance)
            .leaderAndEpoch(org.apache.kafka.raft.LeaderAndEpoch.UNKNOWN).numBatches(1).elapsedNs(1).numBytes(1).build());
    }

    /** Adds a partition that broker 1 leads. */
    Partition addPartition(int id, List<Integer> replicaIds) {
        publish(partitionRecord(topicId, id, replicaIds));
        return replicas.getPartitionOrException(new TopicPartition(TOPIC, id));
    }

    /** Creates another topic with one partition that broker 1 leads. */
    Partition addTopic(String topic, List<Integer> replicaIds) {
        Uuid id = Uuid.randomUuid();
        publish(new TopicRecord().setName(topic).setTopicId(id), partitionRecord(id, 0, replicaIds));
        return replicas.getPartitionOrException(new TopicPartition(topic, 0));
    }

    private PartitionRecord partitionRecord(Uuid topic, int id, List<Integer> replicaIds) {
        return new PartitionRecord().setTopicId(topic).setPartitionId(id).setReplicas(replicaIds).setIsr(replicaIds)
            .setLeader(1).setLeaderEpoch(1).setPartitionEpoch(partitionEpoch)
            .setDirectories(replicaIds.stream().map(replica -> org.apache.kafka.common.DirectoryId.UNASSIGNED).toList());
    }

    /** A change of the replicas, all of them in sync at once. */
    void reassign(List<Integer> replicaIds) {
        partitionEpoch++;
        publish(new PartitionChangeRecord().setTopicId(topicId).setPartitionId(0).setReplicas(replicaIds).setIsr(replicaIds)
            .setDirectories(replicaIds.stream().map(replica -> org.apache.kafka.common.DirectoryId.UNASSIGNED).toList()));
    }

    /** The controller makes a broker the leader of partition 0, with a new epoch even if it is already. */
    PartitionChangeRecord electing(int leader) {
        partitionEpoch++;
        return new PartitionChangeRecord().setTopicId(topicId).setPartitionId(0).setLeader(leader);
    }

    void deleteTopic() {
        publish(new RemoveTopicRecord().setTopicId(topicId));
    }

    /** The disk fails that holds partition 0. */
    void failLogDir() {
        diskFailed = true;
        replicas.handleLogDirFailure(partition().localLogOrException().parentDir(), false);
    }

    /** Produces one record through the replica manager. The future stays open while the request waits. */
    CompletableFuture<PartitionResponse> produce(int acks) {
        return produce(acks, AppendOrigin.CLIENT, 600_000);
    }

    CompletableFuture<PartitionResponse> produce(int acks, AppendOrigin origin, long timeoutMs) {
        return produceTo(acks, origin, timeoutMs, TP).thenApply(answers -> answers.get(TP));
    }

    /** Produces one record to each of these partitions. That a request is answered twice is a fault. */
    CompletableFuture<Map<TopicPartition, PartitionResponse>> produceTo(int acks, AppendOrigin origin, long timeoutMs, TopicPartition... partitions) {
        CompletableFuture<Map<TopicPartition, PartitionResponse>> answer = new CompletableFuture<>();
        Map<TopicIdPartition, MemoryRecords> records = new HashMap<>();
        for (TopicPartition partition : partitions)
            records.put(new TopicIdPartition(cache.getTopicId(partition.topic()), partition),
                MemoryRecords.withRecords(Compression.NONE, new SimpleRecord("v".getBytes())));
        replicas.appendRecords(timeoutMs, (short) acks, true, origin, CollectionConverters.asScala(records),
            responses -> {
                Map<TopicPartition, PartitionResponse> answers = new HashMap<>();
                responses.forEach((tp, response) -> answers.put(tp.topicPartition(), response));
                if (!answer.complete(answers))
                    faults.add(new AssertionError("answered twice: " + answers));
                return BoxedUnit.UNIT;
            },
            stats -> {
                afterAppend.run();
                return BoxedUnit.UNIT;
            }, RequestLocal.noCaching(), scala.collection.immutable.Map$.MODULE$.empty(), (short) -1);
        replicas.defaultActionQueue().tryCompleteActions();
        return answer;
    }

    /** The answer of a request that has no reason to wait any longer. */
    static <T> T now(CompletableFuture<T> answer) {
        assertTrue(answer.isDone(), "the request should have been answered");
        return answer.join();
    }

    /** A follower fetches from this offset, which says that it holds everything below. */
    void fetch(int follower, long from) {
        fetch(partition(), follower, from);
    }

    void fetch(Partition partition, int follower, long from) {
        Replica replica = partition.getReplica(follower).get();
        partition.updateFollowerFetchState(replica, new LogOffsetMetadata(from), 0, time.milliseconds(),
            partition.localLogOrException().logEndOffset(), 1);
    }

    void everyoneFetches() {
        long end = logEnd();
        for (int id : List.copyOf(partition().partitionState().isr()))
            if (id != 1)
                fetch(id, end);
    }

    long logEnd() {
        return partition().localLogOrException().logEndOffset();
    }

    long highWatermark() {
        return partition().localLogOrException().highWatermark();
    }

    @Override
    public void close() throws Exception {
        replicas.shutdown(false);
        quotas.shutdown();
        // A log manager that has lost a disk stumbles over the lock it has given back
        if (!diskFailed)
            logs.shutdown(-1);
        metrics.close();
        Utils.delete(logDir);
    }
}
