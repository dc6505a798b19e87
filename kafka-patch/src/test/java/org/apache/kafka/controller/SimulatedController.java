// SPDX-License-Identifier: Apache-2.0
package org.apache.kafka.controller;

import kafka.server.KafkaRaftServer;

import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.InvalidRegistrationException;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsResponseData;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ClearElrRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ApiError;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.BrokerHeartbeatReply;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.KafkaConfigSchema;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.metadata.VersionRange;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.EligibleLeaderReplicasVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.timeline.SnapshotRegistry;

import io.rackspan.common.RackspanVersion;

import java.util.AbstractMap.SimpleEntry;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

import static org.junit.jupiter.api.Assertions.assertEquals;

/**
 * The managers of an active controller, without its thread and its quorum: what a request decides is in force at once and is handed
 * to a metadata log. The requests of QuorumController that a simulation needs, done as there; one topic of one partition.
 */
public final class SimulatedController {

    public static final String TOPIC = "t";

    private static final long SESSION_MS = 3_600_000;
    private static final KafkaConfigSchema SCHEMA = KafkaRaftServer.configSchema();
    private static final LogContext LOG = new LogContext();
    private static final ConfigResource RESOURCE = new ConfigResource(ConfigResource.Type.TOPIC, TOPIC);

    private static final Map<String, Short> STOCK_FEATURES = Map.of(EligibleLeaderReplicasVersion.FEATURE_NAME, (short) 1);
    private static final Map<String, Short> FEATURES = Map.of(EligibleLeaderReplicasVersion.FEATURE_NAME, (short) 1, RackspanVersion.FEATURE_NAME, (short) 2);
    private static final ControllerRequestContext ALTER_PARTITION = ControllerRequestContextUtil.anonymousContextFor(ApiKeys.ALTER_PARTITION);
    private static final ControllerRequestContext CREATE_TOPICS = ControllerRequestContextUtil.anonymousContextFor(ApiKeys.CREATE_TOPICS);

    private final Time time;
    private final Consumer<List<ApiMessageAndVersion>> metadataLog;
    private final FeatureControlManager features;
    private final ClusterControlManager cluster;
    private final ConfigurationControlManager configs;
    private final ReplicationControlManager replication;
    private final Uuid clusterId = new Uuid(1, 1);
    private long offset = 0;
    private Uuid topic;

    /** Changes the records of a request before they are in force: how a rule is knocked out. */
    public UnaryOperator<List<ApiMessageAndVersion>> rewrite = records -> records;
    /** Takes every registration for one after a clean shutdown. */
    public boolean registersAsClean = false;
    /** Empties no list of eligible replicas when a broker comes with another rack. */
    public boolean forgetsRackChanges = false;
    /** Clears eligible replicas of a partition without a leader as well. */
    public boolean clearsLeaderless = false;
    /** Cancels reassignments also where too few replicas in sync are left. */
    public boolean cancelsAtAnyTime = false;
    /** Lowers the level also while partitions have electable sets. */
    public boolean lowersWithElectable = false;
    /** Accepts electable sets at any level. */
    public boolean acceptsElectable = false;
    /** Elects the preferred replica whenever it is in sync. */
    public boolean prefersAnyInSync = false;
    /** Registers brokers without a rack at any time. */
    public boolean requiresNoRack = false;
    /** Racks may be required while brokers without a rack are registered. */
    public boolean checksNoRacks = false;

    /**
     * @param level       of rackspan.version when the cluster is formed
     * @param staticRacks min.insync.racks in the controllers' server.properties; 1 is none
     */
    public SimulatedController(Time time, int level, int staticRacks, Consumer<List<ApiMessageAndVersion>> metadataLog) {
        this.time = time;
        this.metadataLog = metadataLog;
        SnapshotRegistry snapshots = new SnapshotRegistry(LOG);
        features = new FeatureControlManager.Builder().setLogContext(LOG).setSnapshotRegistry(snapshots)
            .setQuorumFeatures(new QuorumFeatures(0, QuorumFeatures.defaultSupportedFeatureMap(true), List.of(0)))
            .setClusterFeatureSupportDescriber(new Support()).build();
        cluster = new ClusterControlManager.Builder().setLogContext(LOG).setSnapshotRegistry(snapshots).setTime(time).setClusterId(clusterId.toString())
            .setSessionTimeoutNs(TimeUnit.MILLISECONDS.toNanos(SESSION_MS)).setFeatureControlManager(features)
            .setBrokerShutdownHandler(this::handleShutdown).build();
        configs = new ConfigurationControlManager.Builder().setLogContext(LOG).setSnapshotRegistry(snapshots).setFeatureControl(features)
            .setKafkaConfigSchema(SCHEMA).setValidator(new Validator())
            .setStaticConfig(staticRacks > 1 ? Map.of(TopicConfig.MIN_IN_SYNC_RACKS_CONFIG, "" + staticRacks) : Map.of()).build();
        replication = new ReplicationControlManager.Builder().setLogContext(LOG).setSnapshotRegistry(snapshots)
            .setConfigurationControl(configs).setClusterControl(cluster).setFeatureControl(features).build();
        cluster.activate();
        commit(List.of(
            new ApiMessageAndVersion(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME)
                .setFeatureLevel(MetadataVersion.latestProduction().featureLevel()), (short) 0),
            new ApiMessageAndVersion(new FeatureLevelRecord().setName(EligibleLeaderReplicasVersion.FEATURE_NAME).setFeatureLevel((short) 1), (short) 0)));
        if (level > 0)
            commit(List.of(level(level)));
    }

    private static ApiMessageAndVersion level(int level) {
        return new ApiMessageAndVersion(new FeatureLevelRecord().setName(RackspanVersion.FEATURE_NAME).setFeatureLevel((short) level), (short) 0);
    }

    /** What registered brokers support; the only controller supports all. */
    private final class Support implements ClusterFeatureSupportDescriber {

        @Override
        public Iterator<Entry<Integer, Map<String, VersionRange>>> brokerSupported() {
            return cluster.brokerSupportedFeatures();
        }

        @Override
        public Iterator<Entry<Integer, Map<String, VersionRange>>> controllerSupported() {
            return Collections.emptyIterator();
        }
    }

    /** The controller's own check, which can be knocked out. */
    private final class Validator implements ConfigurationValidator {

        private final ConfigurationValidator check = new RegisteredRacks(ConfigurationValidator.NO_OP, cluster);

        @Override
        public void validate(ConfigResource resource) { }

        @Override
        public void validate(ConfigResource resource, Map<String, String> newConfigs, Map<String, String> oldConfigs) {
            if (!checksNoRacks)
                check.validate(resource, newConfigs, oldConfigs);
        }
    }

    private void handleShutdown(int broker, boolean clean, List<ApiMessageAndVersion> records) {
        replication.handleBrokerShutdown(broker, clean, records);
    }

    private <T> T commit(ControllerResult<T> result) {
        commit(rewrite.apply(result.records()));
        return result.response();
    }

    private void commit(List<ApiMessageAndVersion> records) {
        if (records.isEmpty())
            return;
        for (ApiMessageAndVersion record : records)
            replay(record.message());
        metadataLog.accept(records);
    }

    private void replay(ApiMessage message) {
        offset++;
        if (message instanceof PartitionChangeRecord record)
            replication.replay(record);
        else if (message instanceof BrokerRegistrationChangeRecord record)
            cluster.replay(record);
        else if (message instanceof RegisterBrokerRecord record)
            cluster.replay(record, offset);
        else if (message instanceof ConfigRecord record)
            configs.replay(record);
        else if (message instanceof ClearElrRecord record)
            replication.replay(record);
        else if (message instanceof TopicRecord record)
            replication.replay(record);
        else if (message instanceof PartitionRecord record)
            replication.replay(record);
        else if (message instanceof FeatureLevelRecord record)
            features.replay(record);
        else
            throw new IllegalStateException("no manager for " + message);
    }

    /**
     * Registers a broker that starts; its session of before has timed out.
     *
     * @param previousEpoch the broker epoch that a clean shutdown left on its disk, or -1
     * @param stock         the broker does not know rackspan.version
     * @return the new broker epoch, or -1 if it is refused for its features or because it has no rack
     */
    public long register(int broker, String rack, Uuid incarnation, Uuid directory, long previousEpoch, boolean stock) {
        BrokerRegistration existing = cluster.registration(broker);
        if (existing != null)
            cluster.heartbeatManager().tracker().updateContactTime(new BrokerIdAndEpoch(broker, existing.epoch()),
                time.nanoseconds() - TimeUnit.MILLISECONDS.toNanos(2 * SESSION_MS));
        BrokerRegistrationRequestData.ListenerCollection listeners = new BrokerRegistrationRequestData.ListenerCollection();
        listeners.add(new BrokerRegistrationRequestData.Listener().setName("PLAINTEXT").setHost("localhost").setPort(9092 + broker));
        BrokerRegistrationRequestData request = new BrokerRegistrationRequestData().setBrokerId(broker).setRack(rack)
            .setClusterId(clusterId.toString()).setIncarnationId(incarnation).setListeners(listeners).setLogDirs(List.of(directory))
            .setPreviousBrokerEpoch(registersAsClean && existing != null ? existing.epoch() : previousEpoch)
            .setFeatures(QuorumControllerIntegrationTestUtils.brokerFeaturesPlusFeatureVersions(MetadataVersion.MINIMUM_VERSION,
                MetadataVersion.latestTesting(), stock ? STOCK_FEATURES : FEATURES));
        ControllerResult<org.apache.kafka.metadata.BrokerRegistrationReply> result;
        try {
            if (!requiresNoRack)
                RackspanLevel.requireRack(request, features, configs);
            result = cluster.registerBroker(request, offset + 1, features.finalizedFeatures(Long.MAX_VALUE), true);
        } catch (UnsupportedVersionException | InvalidRegistrationException e) {
            return -1;
        }
        return commit(forgetsRackChanges ? result : replication.withElrsThatRacksMeet(broker, rack, result)).epoch();
    }

    /** A heartbeat of a broker, with the offset up to which it has the metadata. Null if its epoch is stale. */
    public BrokerHeartbeatReply heartbeat(int broker, long epoch, long metadataOffset, boolean wantShutdown, List<Uuid> offlineDirectories) {
        BrokerHeartbeatRequestData request = new BrokerHeartbeatRequestData().setBrokerId(broker).setBrokerEpoch(epoch)
            .setCurrentMetadataOffset(metadataOffset).setWantFence(false).setWantShutDown(wantShutdown)
            .setOfflineLogDirs(offlineDirectories);
        try {
            BrokerHeartbeatReply reply = commit(replication.processBrokerHeartbeat(request, cluster.registerBrokerRecordOffset(broker).getAsLong()));
            if (reply.inControlledShutdown())
                cluster.heartbeatManager().maybeUpdateControlledShutdownOffset(broker, offset);
            return reply;
        } catch (ApiException e) {
            return null;
        }
    }

    /** The session of a broker times out. */
    public void expireSession(int broker) {
        if (cluster.registration(broker).fenced())
            return;
        List<ApiMessageAndVersion> records = new ArrayList<>();
        replication.handleBrokerFenced(broker, records);
        cluster.heartbeatManager().fence(broker);
        commit(ControllerResult.of(records, null));
    }

    /** The answer to a leader's request to change the ISR. */
    public AlterPartitionResponseData alterPartition(AlterPartitionRequestData request) {
        FeatureLevelRecord now = (FeatureLevelRecord) level(level()).message();
        if (acceptsElectable)
            features.replay((FeatureLevelRecord) level(2).message());
        try {
            return commit(replication.alterPartition(ALTER_PARTITION, request));
        } catch (ApiException e) {
            return new AlterPartitionResponseData().setErrorCode(Errors.forException(e).code());
        } finally {
            if (acceptsElectable)
                features.replay(now);
        }
    }

    public void createTopic(List<Integer> replicas, Map<String, String> settings) {
        CreateTopicsRequestData.CreatableTopic created = new CreateTopicsRequestData.CreatableTopic().setName(TOPIC).setNumPartitions(-1).setReplicationFactor((short) -1);
        created.assignments().add(new CreateTopicsRequestData.CreatableReplicaAssignment().setPartitionIndex(0).setBrokerIds(replicas));
        settings.forEach((name, value) -> created.configs().add(new CreateTopicsRequestData.CreatableTopicConfig().setName(name).setValue(value)));
        CreateTopicsRequestData request = new CreateTopicsRequestData();
        request.topics().add(created);
        CreateTopicsResponseData.CreatableTopicResult result = commit(replication.createTopics(CREATE_TOPICS, request, Set.of(TOPIC), false)).topics().find(TOPIC);
        assertEquals(Errors.NONE.code(), result.errorCode(), result.errorMessage());
        topic = result.topicId();
    }

    /** Sets a value of the topic, or deletes it if it is null. Returns false if that is refused. */
    public boolean setting(String name, String value) {
        return alter(RESOURCE, name, value);
    }

    /** The cluster has no default of min.insync.racks any more. */
    public void removeClusterDefault() {
        alter(new ConfigResource(ConfigResource.Type.BROKER, ""), TopicConfig.MIN_IN_SYNC_RACKS_CONFIG, null);
    }

    private boolean alter(ConfigResource resource, String name, String value) {
        Map<ConfigResource, Map<String, Entry<OpType, String>>> changes = Map.of(resource, Map.of(name,
            new SimpleEntry<>(value == null ? OpType.DELETE : OpType.SET, value)));
        Degrades degrades = new Degrades(configs, replication, features, time::milliseconds);
        ControllerResult<Map<ConfigResource, ApiError>> result = clearsLeaderless ? configs.incrementalAlterConfigs(changes, false, false)
            : degrades.alter(changes, all -> configs.incrementalAlterConfigs(all, false, false), "User:operator");
        return commit(result).get(resource).isSuccess();
    }

    /** Sets the level of rackspan.version. Returns the refusal, which is empty if there is none. */
    public String setLevel(int level) {
        Map<String, Short> updates = Map.of(RackspanVersion.FEATURE_NAME, (short) level);
        Map<String, FeatureUpdate.UpgradeType> types = Map.of(RackspanVersion.FEATURE_NAME,
            level > level() ? FeatureUpdate.UpgradeType.UPGRADE : FeatureUpdate.UpgradeType.SAFE_DOWNGRADE);
        Supplier<Collection<String>> electable = lowersWithElectable ? List::of : replication::electableTopics;
        ApiError error = commit(new RackspanLevel(features, configs, replication, cluster).withElectable(electable).update(updates, false,
            () -> configs.updateFeatures(updates, types, false, 1)));
        return error.isSuccess() ? "" : error.message();
    }

    /** Raises the level whatever is against it. */
    public void forceLevel(int level, int clusterDefault) {
        commit(List.of(clusterDefault(clusterDefault), level(level)));
    }

    private static ApiMessageAndVersion clusterDefault(int minRacks) {
        return new ApiMessageAndVersion(new ConfigRecord().setResourceType(ConfigResource.Type.BROKER.id()).setResourceName("")
            .setName(TopicConfig.MIN_IN_SYNC_RACKS_CONFIG).setValue("" + minRacks), (short) 0);
    }

    public int level() {
        return features.rackspanLevel();
    }

    /** The min.insync.racks that the controller goes by. */
    public int minRacks() {
        return configs.minInsyncRacks(TOPIC);
    }

    /** The cluster default is this to the controller and to nobody else, as if it went by its server.properties. */
    public void believeClusterDefault(int minRacks) {
        configs.replay((ConfigRecord) clusterDefault(minRacks).message());
    }

    /** Moves the partition to these replicas; an empty list cancels a move that is under way. */
    public void reassign(List<Integer> replicas) {
        commit(replication.alterPartitionReassignments(new AlterPartitionReassignmentsRequestData().setTopics(List.of(
            new AlterPartitionReassignmentsRequestData.ReassignableTopic().setName(TOPIC).setPartitions(List.of(
                new AlterPartitionReassignmentsRequestData.ReassignablePartition().setPartitionIndex(0).setReplicas(replicas.isEmpty() ? null : replicas)))))));
        if (replicas.isEmpty() && cancelsAtAnyTime)
            Reassignments.cancelled(partition(), new PartitionChangeRecord().setTopicId(topic).setPartitionId(0))
                .ifPresent(change -> commit(List.of(new ApiMessageAndVersion(change, features.metadataVersionOrThrow().partitionChangeRecordVersion()))));
    }

    public void electPreferredLeader() {
        List<ApiMessageAndVersion> records = new ArrayList<>();
        int preferred = partition().preferredReplica();
        if (prefersAnyInSync && partition().leader != preferred && mayLead(preferred, partition()))
            records.add(new ApiMessageAndVersion(new PartitionChangeRecord().setTopicId(topic).setPartitionId(0).setLeader(preferred),
                features.metadataVersionOrThrow().partitionChangeRecordVersion()));
        else
            replication.electLeader(TOPIC, 0, ElectionType.PREFERRED, records);
        commit(ControllerResult.of(records, null));
    }

    /** True if a replica may lead by what the base asks for: it is in sync, and its broker serves. */
    public boolean mayLead(int replica, PartitionRegistration partition) {
        return Replicas.contains(partition.isr, replica) && !registration(replica).fenced() && !registration(replica).inControlledShutdown();
    }

    public Uuid topicId() {
        return topic;
    }

    public PartitionRegistration partition() {
        return replication.getPartition(topic, 0);
    }

    public BrokerRegistration registration(int broker) {
        return cluster.registration(broker);
    }

    /** The offset of the newest record. */
    public long offset() {
        return offset;
    }
}
