// SPDX-License-Identifier: Apache-2.0
package org.apache.kafka.controller;

import kafka.server.KafkaRaftServer;

import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionReassignmentsResponseData;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.message.AssignReplicasToDirsRequestData;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.ControllerRegistrationRequestData;
import org.apache.kafka.common.message.CreatePartitionsRequestData.CreatePartitionsAssignment;
import org.apache.kafka.common.message.CreatePartitionsRequestData.CreatePartitionsTopic;
import org.apache.kafka.common.message.CreatePartitionsResponseData.CreatePartitionsTopicResult;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsResponseData;
import org.apache.kafka.common.message.ElectLeadersRequestData;
import org.apache.kafka.common.message.UpdateFeaturesRequestData;
import org.apache.kafka.common.message.UpdateFeaturesResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.requests.ApiError;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.metadata.bootstrap.BootstrapMetadata;
import org.apache.kafka.server.common.EligibleLeaderReplicasVersion;
import org.apache.kafka.server.common.MetadataVersion;

import io.rackspan.common.RackspanVersion;
import io.rackspan.protocol.Electable;

import java.util.AbstractMap.SimpleEntry;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * An active controller with the settings of a real one, and one topic "t" of one partition. The test sends the
 * requests of its brokers. It is in this package because upstream's test environment and the controller's state are for this package only.
 */
public final class ControllerFixture implements AutoCloseable {

    private static final long SESSION_MS = 3_600_000;
    private static final String FEATURE = RackspanVersion.FEATURE_NAME;

    private final MockRaftClientTestEnv log;
    private final QuorumControllerTestEnv env;
    private final QuorumController controller;
    private final Map<Integer, Long> epochs = new HashMap<>();
    private final Map<Integer, List<Uuid>> disks = new HashMap<>();
    private Uuid topic;

    /** A controller at level 1 of rackspan.version. */
    public ControllerFixture(Map<String, Object> properties) throws Exception {
        this(properties, 1);
    }

    /**
     * @param properties the controller's own server.properties
     * @param level      the level of rackspan.version that the cluster is formatted at
     */
    public ControllerFixture(Map<String, Object> properties, int level) throws Exception {
        log = new MockRaftClientTestEnv.Builder(1).build();
        env = new QuorumControllerTestEnv.Builder(log).setSessionTimeoutMillis(OptionalLong.of(SESSION_MS))
            .setBootstrapMetadata(BootstrapMetadata.fromVersions(MetadataVersion.latestTesting(), Map.of(FEATURE, (short) level), "test"))
            .setControllerBuilderInitializer(builder -> builder.setConfigSchema(KafkaRaftServer.configSchema()).setStaticConfig(properties)).build();
        controller = env.activeController();
    }

    /** A controller with brokers 1, 2 and so on, unfenced, in these racks. */
    public static ControllerFixture withBrokers(Map<String, Object> properties, int level, String... racks) throws Exception {
        ControllerFixture made = new ControllerFixture(properties, level);
        for (int id = 1; id <= racks.length; id++) {
            made.start(id, racks[id - 1], false);
            made.heartbeat(id, false);
        }
        return made;
    }

    /** An answer as text; empty if it is no error. */
    private static String refusal(short code, String message) {
        return code == Errors.NONE.code() ? "" : Errors.forCode(code) + ": " + message;
    }

    private static ControllerRequestContext context(ApiKeys api) {
        return ControllerRequestContextUtil.anonymousContextFor(api);
    }

    private static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(60, TimeUnit.SECONDS);
    }

    /** A broker starts, for the first time or again, and is in sync with nothing yet. */
    public void start(int broker, String rack, boolean afterCleanShutdown) throws Exception {
        register(broker, rack, afterCleanShutdown, Map.of(EligibleLeaderReplicasVersion.FEATURE_NAME, (short) 1, FEATURE, RackspanVersion.RSV_2.featureLevel()));
    }

    /** A stock broker starts for the first time. */
    public void startStock(int broker, String rack) throws Exception {
        register(broker, rack, false, Map.of(EligibleLeaderReplicasVersion.FEATURE_NAME, (short) 1));
    }

    /** A broker starts that knows level 1 only. */
    public void startOld(int broker, String rack) throws Exception {
        register(broker, rack, false, Map.of(EligibleLeaderReplicasVersion.FEATURE_NAME, (short) 1, FEATURE, (short) 1));
    }

    /** A stock controller announces itself. */
    public void startStockController(int id) throws Exception {
        ControllerRegistrationRequestData request = new ControllerRegistrationRequestData().setControllerId(id).setIncarnationId(Uuid.randomUuid());
        request.features().add(new ControllerRegistrationRequestData.Feature().setName(EligibleLeaderReplicasVersion.FEATURE_NAME).setMaxSupportedVersion((short) 1));
        get(controller.registerController(context(ApiKeys.CONTROLLER_REGISTRATION), request));
    }

    private void register(int broker, String rack, boolean afterCleanShutdown, Map<String, Short> features) throws Exception {
        forgetSession(broker);
        BrokerRegistrationRequestData.ListenerCollection listeners = new BrokerRegistrationRequestData.ListenerCollection();
        listeners.add(new BrokerRegistrationRequestData.Listener().setName("PLAINTEXT").setHost("localhost").setPort(9092 + broker));
        epochs.put(broker, get(controller.registerBroker(context(ApiKeys.BROKER_REGISTRATION), new BrokerRegistrationRequestData()
            .setBrokerId(broker).setRack(rack).setClusterId(controller.clusterId()).setIncarnationId(Uuid.randomUuid()).setListeners(listeners)
            .setPreviousBrokerEpoch(afterCleanShutdown ? epochs.get(broker) : -1).setLogDirs(disksOf(broker))
            .setFeatures(QuorumControllerIntegrationTestUtils.brokerFeaturesPlusFeatureVersions(MetadataVersion.MINIMUM_VERSION,
                MetadataVersion.latestTesting(), features)))).epoch());
    }

    /** As if the session had timed out long ago: a second incarnation is refused before. */
    private void forgetSession(int broker) throws Exception {
        if (epochs.containsKey(broker))
            get(controller.appendReadEvent("forget the session", OptionalLong.empty(), () -> {
                BrokerHeartbeatTracker tracker = controller.clusterControl().heartbeatManager().tracker();
                tracker.updateContactTime(new BrokerIdAndEpoch(broker, epochs.get(broker)),
                    tracker.time().nanoseconds() - TimeUnit.MILLISECONDS.toNanos(2 * SESSION_MS));
                return null;
            }));
    }

    /** Requests to be unfenced, or fenced, as the broker. */
    public void heartbeat(int broker, boolean fence) throws Exception {
        assertEquals(fence, get(controller.processBrokerHeartbeat(context(ApiKeys.BROKER_HEARTBEAT), new BrokerHeartbeatRequestData()
            .setBrokerId(broker).setBrokerEpoch(epochs.get(broker)).setCurrentMetadataOffset(Long.MAX_VALUE).setWantFence(fence))).isFenced());
    }

    public void fence(int... brokers) throws Exception {
        for (int broker : brokers)
            heartbeat(broker, true);
    }

    /** The broker begins a controlled shutdown. */
    public void shutDown(int broker) throws Exception {
        get(controller.processBrokerHeartbeat(context(ApiKeys.BROKER_HEARTBEAT), new BrokerHeartbeatRequestData()
            .setBrokerId(broker).setBrokerEpoch(epochs.get(broker)).setCurrentMetadataOffset(Long.MAX_VALUE).setWantShutDown(true)));
    }

    private List<Uuid> disksOf(int broker) {
        return disks.getOrDefault(broker, List.of(disk(broker, 1)));
    }

    private static Uuid disk(int broker, int number) {
        return new Uuid(6 + number, broker);
    }

    /** When the broker starts again it has these disks; until then it has number 1. */
    public void setDisks(int broker, Integer... numbers) {
        disks.put(broker, List.of(numbers).stream().map(number -> disk(broker, number)).toList());
    }

    /** A disk of the broker fails, and it continues with others. */
    public void failDisk(int broker, int number) throws Exception {
        get(controller.processBrokerHeartbeat(context(ApiKeys.BROKER_HEARTBEAT), new BrokerHeartbeatRequestData()
            .setBrokerId(broker).setBrokerEpoch(epochs.get(broker)).setCurrentMetadataOffset(Long.MAX_VALUE)
            .setOfflineLogDirs(List.of(disk(broker, number)))));
    }

    /** The broker reports that its replica is on this disk. */
    public void assignDisk(int broker, int number) throws Exception {
        get(controller.assignReplicasToDirs(context(ApiKeys.ASSIGN_REPLICAS_TO_DIRS), new AssignReplicasToDirsRequestData().setBrokerId(broker)
            .setBrokerEpoch(epochs.get(broker)).setDirectories(List.of(new AssignReplicasToDirsRequestData.DirectoryData()
                .setId(disk(broker, number)).setTopics(List.of(new AssignReplicasToDirsRequestData.TopicData().setTopicId(topic)
                    .setPartitions(List.of(new AssignReplicasToDirsRequestData.PartitionData().setPartitionIndex(0)))))))));
    }

    public void unregister(int broker) throws Exception {
        get(controller.unregisterBroker(context(ApiKeys.UNREGISTER_BROKER), broker));
    }

    /** Creates topic t with these replicas, all in sync. */
    public void createTopic(List<Integer> replicas, Map<String, String> configs) throws Exception {
        CreateTopicsResponseData.CreatableTopicResult result = created("t", replicas, configs);
        assertEquals(Errors.NONE.code(), result.errorCode(), result.errorMessage());
        topic = result.topicId();
    }

    /** The error and its text with which a topic of one partition cannot be created; empty if it can. */
    public String creationRefusal(String name, List<Integer> replicas, Map<String, String> configs) throws Exception {
        CreateTopicsResponseData.CreatableTopicResult result = created(name, replicas, configs);
        return refusal(result.errorCode(), result.errorMessage());
    }

    private CreateTopicsResponseData.CreatableTopicResult created(String name, List<Integer> replicas, Map<String, String> configs) throws Exception {
        CreateTopicsRequestData.CreatableTopic created = new CreateTopicsRequestData.CreatableTopic().setName(name).setNumPartitions(-1).setReplicationFactor((short) -1);
        created.assignments().add(new CreateTopicsRequestData.CreatableReplicaAssignment().setPartitionIndex(0).setBrokerIds(replicas));
        configs.forEach((setting, value) -> created.configs().add(new CreateTopicsRequestData.CreatableTopicConfig().setName(setting).setValue(value)));
        CreateTopicsRequestData request = new CreateTopicsRequestData();
        request.topics().add(created);
        return get(controller.createTopics(context(ApiKeys.CREATE_TOPICS), request, Set.of(), false)).topics().find(name);
    }

    /** Adds a second partition to topic t; returns the refusal, which is empty if there is none. */
    public String createPartition(List<Integer> replicas) throws Exception {
        CreatePartitionsTopic more = new CreatePartitionsTopic().setName("t").setCount(2)
            .setAssignments(List.of(new CreatePartitionsAssignment().setBrokerIds(replicas)));
        CreatePartitionsTopicResult result = get(controller.createPartitions(context(ApiKeys.CREATE_PARTITIONS), List.of(more), false)).get(0);
        return refusal(result.errorCode(), result.errorMessage());
    }

    public void deleteTopic() throws Exception {
        assertEquals(Map.of(topic, ApiError.NONE), get(controller.deleteTopics(context(ApiKeys.DELETE_TOPICS), List.of(topic))));
    }

    /** The leader proposes these in-sync replicas; they are accepted. */
    public void alterIsr(Integer... isr) throws Exception {
        assertEquals(Errors.NONE, answer(proposal(isr)));
    }

    /** The leader's request to change the ISR. */
    public AlterPartitionRequestData proposal(Integer... isr) throws Exception {
        PartitionRegistration partition = partition();
        AlterPartitionRequestData request = new AlterPartitionRequestData().setBrokerId(partition.leader).setBrokerEpoch(epochs.get(partition.leader));
        AlterPartitionRequestData.TopicData data = new AlterPartitionRequestData.TopicData().setTopicId(topic);
        data.partitions().add(new AlterPartitionRequestData.PartitionData().setPartitionIndex(0).setLeaderEpoch(partition.leaderEpoch)
            .setPartitionEpoch(partition.partitionEpoch).setNewIsrWithEpochs(List.of(isr).stream().map(broker ->
                new AlterPartitionRequestData.BrokerState().setBrokerId(broker).setBrokerEpoch(epochs.get(broker))).toList()));
        request.topics().add(data);
        return request;
    }

    /** The controller's answer when a request to change the ISR, or a copy of it, arrives. */
    public Errors answer(AlterPartitionRequestData proposal) throws Exception {
        return Errors.forCode(fullAnswer(proposal).errorCode());
    }

    /** The same with all that it says. */
    public AlterPartitionResponseData.PartitionData fullAnswer(AlterPartitionRequestData proposal) throws Exception {
        short version = ApiKeys.ALTER_PARTITION.latestVersion();
        AlterPartitionRequestData copy = new AlterPartitionRequestData(MessageUtil.toByteBufferAccessor(proposal, version), version);
        return get(controller.alterPartition(context(ApiKeys.ALTER_PARTITION), copy)).topics().get(0).partitions().get(0);
    }

    /** The leader's request to change the ISR and the electable set; null proposes no set. */
    public AlterPartitionRequestData proposalWith(Electable set, Integer... isr) throws Exception {
        AlterPartitionRequestData request = proposal(isr);
        Electable.into(set, request.topics().get(0).partitions().get(0));
        return request;
    }

    /** The leader proposes both, and they are accepted; returns the set in the answer. */
    public String alterElectable(List<Integer> set, Integer... isr) throws Exception {
        AlterPartitionResponseData.PartitionData answer = fullAnswer(proposalWith(Electable.of(set), isr));
        assertEquals(Errors.NONE, Errors.forCode(answer.errorCode()));
        return Electable.in(answer, Electable.NONE).toString();
    }

    /** An election of partition 0 as the tool asks for it. */
    public Errors elect(ElectionType type) throws Exception {
        ElectLeadersRequestData request = new ElectLeadersRequestData().setElectionType(type.value).setTopicPartitions(new ElectLeadersRequestData.TopicPartitionsCollection());
        request.topicPartitions().add(new ElectLeadersRequestData.TopicPartitions().setTopic("t").setPartitions(List.of(0)));
        return Errors.forCode(get(controller.electLeaders(context(ApiKeys.ELECT_LEADERS), request)).replicaElectionResults().get(0).partitionResult().get(0).errorCode());
    }

    /** Moves leaders to the preferred replicas, as the controller does once in a while. */
    public void balance() throws Exception {
        get(controller.appendWriteEvent("balance", OptionalLong.empty(), () -> controller.replicationControl().maybeBalancePartitionLeaders()));
    }

    /** Sets a value, or deletes it if it is null. An empty broker name is the cluster default. */
    public void alter(ConfigResource resource, String name, String value) throws Exception {
        OpType operation = value == null ? OpType.DELETE : OpType.SET;
        Map<ConfigResource, ApiError> answer = get(controller.incrementalAlterConfigs(context(ApiKeys.INCREMENTAL_ALTER_CONFIGS),
            Map.of(resource, Map.of(name, new SimpleEntry<>(operation, value))), false, false));
        assertTrue(answer.get(resource).isSuccess(), answer.toString());
    }

    /** The text with which a value is refused. */
    public String refusal(ConfigResource resource, String name, String value) throws Exception {
        ApiError answer = get(controller.incrementalAlterConfigs(context(ApiKeys.INCREMENTAL_ALTER_CONFIGS),
            Map.of(resource, Map.of(name, new SimpleEntry<>(OpType.SET, value))), false, false)).get(resource);
        assertEquals(Errors.INVALID_CONFIG, answer.error(), answer.toString());
        return answer.message();
    }

    /** The settings in the metadata log of a topic, a broker, or of the cluster, which has an empty broker name. */
    public Map<String, String> configs(ConfigResource resource) throws Exception {
        return get(controller.appendReadEvent("look", OptionalLong.empty(), () -> Map.copyOf(controller.configurationControl().getConfigs(resource))));
    }

    /** Sets the level of a feature, or only asks whether that would be allowed; returns the refusal, empty if there is none. */
    public String update(String feature, int level, FeatureUpdate.UpgradeType type, boolean dryRun) throws Exception {
        UpdateFeaturesRequestData request = new UpdateFeaturesRequestData().setValidateOnly(dryRun);
        request.featureUpdates().add(new UpdateFeaturesRequestData.FeatureUpdateKey().setFeature(feature).setMaxVersionLevel((short) level).setUpgradeType(type.code()));
        UpdateFeaturesResponseData answer = get(controller.updateFeatures(context(ApiKeys.UPDATE_FEATURES), request));
        return answer.errorCode() == 0 ? "" : answer.errorMessage();
    }

    public int level() throws Exception {
        return get(controller.finalizedFeatures(context(ApiKeys.API_VERSIONS))).versionOrDefault(FEATURE, (short) 0);
    }

    /** The older request: these values and no others. */
    public void legacyAlter(ConfigResource resource, Map<String, String> all) throws Exception {
        Map<ConfigResource, ApiError> answer = get(controller.legacyAlterConfigs(context(ApiKeys.ALTER_CONFIGS), Map.of(resource, all), false, false));
        assertTrue(answer.get(resource).isSuccess(), answer.toString());
    }

    /** Partition 0 of topic t. */
    public PartitionRegistration partition() throws Exception {
        return get(controller.appendReadEvent("look", OptionalLong.empty(), () -> controller.replicationControl().getPartition(topic, 0)));
    }

    /** Begins to move the partition to these replicas. */
    public void reassign(Integer... replicas) throws Exception {
        assertEquals("", reassignment(List.of(replicas)));
    }

    /** Cancels the reassignment; returns the refusal, which is empty if there is none. */
    public String cancelReassignment() throws Exception {
        return reassignment(null);
    }

    /** Requests a reassignment; returns the refusal, which is empty if there is none. */
    public String reassignment(List<Integer> replicas) throws Exception {
        AlterPartitionReassignmentsRequestData request = new AlterPartitionReassignmentsRequestData();
        request.topics().add(new AlterPartitionReassignmentsRequestData.ReassignableTopic().setName("t").setPartitions(List.of(
            new AlterPartitionReassignmentsRequestData.ReassignablePartition().setPartitionIndex(0).setReplicas(replicas))));
        AlterPartitionReassignmentsResponseData.ReassignablePartitionResponse answer =
            get(controller.alterPartitionReassignments(context(ApiKeys.ALTER_PARTITION_REASSIGNMENTS), request)).responses().get(0).partitions().get(0);
        return refusal(answer.errorCode(), answer.errorMessage());
    }

    public Set<Integer> replicas() throws Exception {
        return Set.copyOf(Replicas.toList(partition().replicas));
    }

    public String electable() throws Exception {
        return partition().electable.toString();
    }

    public int leader() throws Exception {
        return partition().leader;
    }

    public Set<Integer> isr() throws Exception {
        return new TreeSet<>(Replicas.toList(partition().isr));
    }

    public Set<Integer> eligible() throws Exception {
        return new TreeSet<>(Replicas.toList(partition().elr));
    }

    @Override
    public void close() throws Exception {
        env.close();
        log.close();
    }
}
