// SPDX-License-Identifier: Apache-2.0
package org.apache.kafka.controller;

import kafka.server.KafkaRaftServer;

import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.CreatePartitionsRequestData;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsResponseData;
import org.apache.kafka.common.message.ElectLeadersRequestData;
import org.apache.kafka.common.message.UpdateFeaturesRequestData;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.metadata.bootstrap.BootstrapMetadata;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.EligibleLeaderReplicasVersion;
import org.apache.kafka.server.common.MetadataVersion;

import java.nio.ByteBuffer;
import java.util.AbstractMap.SimpleEntry;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Random requests of brokers and clients to a controller, and what it wrote into the metadata log. It is loaded twice, linked to our classes and to
 * the official ones, so nothing here but what both have.
 */
public final class RandomRequests {

    private static final long SESSION_MS = 3_600_000;
    private static final int BROKERS = 5;

    private final QuorumController controller;
    private final Random random;
    /**
     * Either topics are deleted, or minimums change: a controller of the base fails when it deletes a topic whose eligible leaders a changed minimum has
     * cleared (patch elr-index).
     */
    private final boolean deletes;
    private final Map<Integer, Long> epochs = new HashMap<>();
    private final Map<String, Uuid> topics = new TreeMap<>();
    private final StringBuilder answers = new StringBuilder();
    private int incarnations = 0;
    private int names = 0;

    private RandomRequests(QuorumController controller, Random random) {
        this.controller = controller;
        this.random = random;
        this.deletes = random.nextBoolean();
    }

    /** The answers, a line each, then the records in hexadecimal digits, with ids of topics replaced by their numbers. */
    public static String play(long seed, int requests) throws Exception {
        try (MockRaftClientTestEnv log = new MockRaftClientTestEnv.Builder(1).build();
             QuorumControllerTestEnv env = new QuorumControllerTestEnv.Builder(log).setSessionTimeoutMillis(OptionalLong.of(SESSION_MS))
                 .setBootstrapMetadata(BootstrapMetadata.fromVersions(MetadataVersion.latestTesting(),
                     Map.of(EligibleLeaderReplicasVersion.FEATURE_NAME, (short) 1), "test"))
                 .setControllerBuilderInitializer(builder -> builder.setConfigSchema(KafkaRaftServer.configSchema()).setStaticConfig(Map.of())).build()) {
            RandomRequests played = new RandomRequests(env.activeController(), new Random(seed));
            for (int broker = 1; broker <= BROKERS; broker++) {
                played.register(broker, false);
                played.heartbeat(broker, false, false);
            }
            for (int i = 0; i < requests; i++)
                played.next();
            return played.answers + records(log.allRecords());
        }
    }

    /** The file that the controller was loaded from. */
    public static String library() {
        return QuorumController.class.getProtectionDomain().getCodeSource().getLocation().getPath();
    }

    /** One a line. Changes of several partitions at once come in the order of the topics' ids, which are random, and are sorted. */
    private static String records(List<ApiMessageAndVersion> records) {
        StringBuilder text = new StringBuilder();
        List<String> changes = new ArrayList<>();
        Map<String, String> ids = new HashMap<>();
        for (ApiMessageAndVersion record : records) {
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer bytes = ByteBuffer.allocate(MetadataRecordSerde.INSTANCE.recordSize(record, cache));
            MetadataRecordSerde.INSTANCE.write(record, cache, new ByteBufferAccessor(bytes));
            if (record.message() instanceof TopicRecord topic)
                ids.put(String.format("%016x%016x", topic.topicId().getMostSignificantBits(), topic.topicId().getLeastSignificantBits()), "<topic " + ids.size() + ">");
            String hex = HexFormat.of().formatHex(bytes.array());
            for (Map.Entry<String, String> id : ids.entrySet())
                hex = hex.replace(id.getKey(), id.getValue());
            boolean change = record.message() instanceof PartitionChangeRecord;
            if (!change)
                end(changes, text);
            changes.add(record.message().getClass().getSimpleName() + " " + hex + "\n");
            if (!change)
                end(changes, text);
        }
        end(changes, text);
        return text.toString();
    }

    private static void end(List<String> changes, StringBuilder text) {
        Collections.sort(changes);
        changes.forEach(text::append);
        changes.clear();
    }

    private void next() throws Exception {
        int broker = 1 + random.nextInt(BROKERS);
        switch (random.nextInt(20)) {
            case 0 -> register(broker, random.nextBoolean());
            case 1, 2, 3, 4, 5 -> heartbeat(broker, false, false);
            case 6 -> heartbeat(broker, true, false);
            case 7 -> heartbeat(broker, false, true);
            case 8, 9 -> createTopic();
            case 10 -> deleteTopic();
            case 11 -> alterConfig();
            case 12, 13, 14 -> alterIsr();
            case 15, 16 -> reassign();
            case 17 -> elect();
            case 18 -> {
                if (random.nextInt(3) == 0)
                    unregister(broker);
                else
                    createPartitions();
            }
            default -> {
                if (!deletes)
                    updateElr();
            }
        }
    }

    private static ControllerRequestContext context(ApiKeys api) {
        return ControllerRequestContextUtil.anonymousContextFor(api);
    }

    /** Notes the answer without what is random in it; null for an error. */
    private <T> T note(String request, CompletableFuture<T> future) throws Exception {
        try {
            T answer = future.get(60, TimeUnit.SECONDS);
            String text = String.valueOf(answer);
            for (Map.Entry<String, Uuid> topic : topics.entrySet())
                text = text.replace(topic.getValue().toString(), topic.getKey());
            answers.append(request).append(": ").append(text.replaceAll("topicId=[\\w-]{22}", "topicId")).append('\n');
            return answer;
        } catch (ExecutionException e) {
            answers.append(request).append(": ").append(e.getCause().getClass().getSimpleName()).append(' ').append(e.getCause().getMessage()).append('\n');
            return null;
        }
    }

    private <T> T look(java.util.function.Supplier<T> what) throws Exception {
        return controller.appendReadEvent("look", OptionalLong.empty(), what).get(60, TimeUnit.SECONDS);
    }

    private void register(int broker, boolean afterCleanShutdown) throws Exception {
        if (epochs.containsKey(broker)) // as if the session had timed out long ago
            look(() -> {
                BrokerHeartbeatTracker tracker = controller.clusterControl().heartbeatManager().tracker();
                tracker.updateContactTime(new BrokerIdAndEpoch(broker, epochs.get(broker)), tracker.time().nanoseconds() - TimeUnit.MILLISECONDS.toNanos(2 * SESSION_MS));
                return null;
            });
        BrokerRegistrationRequestData.ListenerCollection listeners = new BrokerRegistrationRequestData.ListenerCollection();
        listeners.add(new BrokerRegistrationRequestData.Listener().setName("PLAINTEXT").setHost("localhost").setPort(9092 + broker));
        String rack = random.nextInt(10) == 0 ? null : "r" + (random.nextInt(8) == 0 ? random.nextInt(3) : broker % 3);
        var answer = note("register " + broker, controller.registerBroker(context(ApiKeys.BROKER_REGISTRATION), new BrokerRegistrationRequestData()
            .setBrokerId(broker).setRack(rack).setClusterId(controller.clusterId()).setIncarnationId(new Uuid(9, ++incarnations)).setListeners(listeners)
            .setPreviousBrokerEpoch(afterCleanShutdown ? epochs.getOrDefault(broker, -1L) : -1).setLogDirs(List.of(new Uuid(7, broker)))
            .setFeatures(QuorumControllerIntegrationTestUtils.brokerFeaturesPlusFeatureVersions(MetadataVersion.MINIMUM_VERSION,
                MetadataVersion.latestTesting(), Map.of(EligibleLeaderReplicasVersion.FEATURE_NAME, (short) 1)))));
        if (answer != null)
            epochs.put(broker, answer.epoch());
    }

    private void heartbeat(int broker, boolean fence, boolean shutDown) throws Exception {
        note("heartbeat " + broker, controller.processBrokerHeartbeat(context(ApiKeys.BROKER_HEARTBEAT), new BrokerHeartbeatRequestData().setBrokerId(broker)
            .setBrokerEpoch(epochs.getOrDefault(broker, 0L)).setCurrentMetadataOffset(Long.MAX_VALUE).setWantFence(fence).setWantShutDown(shutDown)));
    }

    private void unregister(int broker) throws Exception {
        note("unregister " + broker, controller.unregisterBroker(context(ApiKeys.UNREGISTER_BROKER), broker));
    }

    private List<Integer> someBrokers() {
        List<Integer> ids = new ArrayList<>();
        for (int id = 1; id <= BROKERS; id++)
            ids.add(id);
        Collections.shuffle(ids, random);
        return List.copyOf(ids.subList(0, 1 + random.nextInt(4)));
    }

    private String someTopic() {
        List<String> all = List.copyOf(topics.keySet());
        return all.isEmpty() ? null : all.get(random.nextInt(all.size()));
    }

    private void createTopic() throws Exception {
        String name = "t" + names++;
        CreateTopicsRequestData.CreatableTopic created = new CreateTopicsRequestData.CreatableTopic().setName(name).setNumPartitions(-1).setReplicationFactor((short) -1);
        for (int partition = 0; partition <= random.nextInt(2); partition++)
            created.assignments().add(new CreateTopicsRequestData.CreatableReplicaAssignment().setPartitionIndex(partition).setBrokerIds(someBrokers()));
        if (random.nextBoolean())
            created.configs().add(new CreateTopicsRequestData.CreatableTopicConfig().setName("min.insync.replicas").setValue(String.valueOf(1 + random.nextInt(3))));
        CreateTopicsRequestData request = new CreateTopicsRequestData();
        request.topics().add(created);
        // Without the settings, which are more with our classes
        note("create " + name, controller.createTopics(context(ApiKeys.CREATE_TOPICS), request, Set.of(), false).thenApply(answer -> {
            CreateTopicsResponseData.CreatableTopicResult result = answer.topics().find(name);
            if (result.errorCode() == 0)
                topics.put(name, result.topicId());
            return result.errorCode() + " " + result.errorMessage() + " " + result.numPartitions() + " " + result.replicationFactor();
        }));
    }

    private void deleteTopic() throws Exception {
        String name = someTopic();
        if (deletes && name != null && random.nextInt(3) == 0)
            note("delete " + name, controller.deleteTopics(context(ApiKeys.DELETE_TOPICS), List.of(topics.remove(name))).thenApply(Map::values));
    }

    private void createPartitions() throws Exception {
        String name = someTopic();
        if (name == null)
            return;
        var wanted = new CreatePartitionsRequestData.CreatePartitionsTopic().setName(name).setCount(2)
            .setAssignments(List.of(new CreatePartitionsRequestData.CreatePartitionsAssignment().setBrokerIds(someBrokers())));
        note("partitions of " + name, controller.createPartitions(context(ApiKeys.CREATE_PARTITIONS), List.of(wanted), false));
    }

    private void alterConfig() throws Exception {
        String topic = random.nextInt(3) == 0 ? null : someTopic();
        ConfigResource resource = topic == null ? new ConfigResource(ConfigResource.Type.BROKER, "") : new ConfigResource(ConfigResource.Type.TOPIC, topic);
        String name = List.of("retention.ms", "unclean.leader.election.enable", "min.insync.replicas", "min.insync.replicas").get(random.nextInt(deletes ? 2 : 4));
        String value = switch (name) {
            case "min.insync.replicas" -> String.valueOf(random.nextInt(4));
            case "retention.ms" -> "1000";
            default -> String.valueOf(random.nextBoolean());
        };
        if (topic == null && name.equals("retention.ms"))
            name = "log.retention.ms";
        boolean delete = random.nextInt(4) == 0;
        note("alter " + resource, controller.incrementalAlterConfigs(context(ApiKeys.INCREMENTAL_ALTER_CONFIGS),
            Map.of(resource, Map.of(name, new SimpleEntry<>(delete ? OpType.DELETE : OpType.SET, delete ? null : value))), false, false));
    }

    private void alterIsr() throws Exception {
        String name = someTopic();
        if (name == null)
            return;
        PartitionRegistration partition = look(() -> controller.replicationControl().getPartition(topics.get(name), 0));
        if (partition.leader < 0)
            return;
        List<AlterPartitionRequestData.BrokerState> isr = Replicas.toList(partition.replicas).stream().filter(id -> id == partition.leader || random.nextBoolean())
            .map(id -> new AlterPartitionRequestData.BrokerState().setBrokerId(id).setBrokerEpoch(epochs.getOrDefault(id, 0L))).toList();
        AlterPartitionRequestData request = new AlterPartitionRequestData().setBrokerId(partition.leader).setBrokerEpoch(epochs.getOrDefault(partition.leader, 0L));
        AlterPartitionRequestData.TopicData data = new AlterPartitionRequestData.TopicData().setTopicId(topics.get(name));
        data.partitions().add(new AlterPartitionRequestData.PartitionData().setPartitionIndex(0).setLeaderEpoch(partition.leaderEpoch)
            .setPartitionEpoch(partition.partitionEpoch).setNewIsrWithEpochs(isr));
        request.topics().add(data);
        note("isr of " + name, controller.alterPartition(context(ApiKeys.ALTER_PARTITION), request));
    }

    private void reassign() throws Exception {
        String name = someTopic();
        if (name == null)
            return;
        AlterPartitionReassignmentsRequestData request = new AlterPartitionReassignmentsRequestData();
        request.topics().add(new AlterPartitionReassignmentsRequestData.ReassignableTopic().setName(name).setPartitions(List.of(
            new AlterPartitionReassignmentsRequestData.ReassignablePartition().setPartitionIndex(0).setReplicas(random.nextInt(4) == 0 ? null : someBrokers()))));
        note("reassign " + name, controller.alterPartitionReassignments(context(ApiKeys.ALTER_PARTITION_REASSIGNMENTS), request));
    }

    private void elect() throws Exception {
        ElectionType type = random.nextInt(3) == 0 ? ElectionType.UNCLEAN : ElectionType.PREFERRED;
        note("elect " + type, controller.electLeaders(context(ApiKeys.ELECT_LEADERS), new ElectLeadersRequestData().setElectionType(type.value).setTopicPartitions(null)));
    }

    private void updateElr() throws Exception {
        boolean on = random.nextInt(3) > 0;
        UpdateFeaturesRequestData request = new UpdateFeaturesRequestData();
        request.featureUpdates().add(new UpdateFeaturesRequestData.FeatureUpdateKey().setFeature(EligibleLeaderReplicasVersion.FEATURE_NAME)
            .setMaxVersionLevel((short) (on ? 1 : 0)).setUpgradeType((on ? FeatureUpdate.UpgradeType.UPGRADE : FeatureUpdate.UpgradeType.SAFE_DOWNGRADE).code()));
        note("elr " + on, controller.updateFeatures(context(ApiKeys.UPDATE_FEATURES), request));
    }
}
