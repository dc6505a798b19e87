// SPDX-License-Identifier: Apache-2.0
package io.rackspan.config;

import kafka.server.ControllerConfigurationValidator;
import kafka.server.KafkaConfig;

import io.rackspan.metadata.BrokerRacks;
import io.rackspan.metadata.RackConfigCheck;
import io.rackspan.metadata.RackSupplyWarning;

import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.utils.LogCaptureAppender;
import org.apache.kafka.image.ConfigurationsDelta;
import org.apache.kafka.image.ConfigurationsImage;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.metadata.KRaftMetadataCache;
import org.apache.kafka.metadata.SupportedConfigChecker;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.storage.internals.log.LogConfig;

import org.apache.logging.log4j.Level;
import org.junit.jupiter.api.Test;

import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

final class RackConfigTest {

    private static final String NAME = "min.insync.racks";
    private static final ConfigResource TOPIC = new ConfigResource(ConfigResource.Type.TOPIC, "orders");
    private static final ConfigResource DEFAULT = new ConfigResource(ConfigResource.Type.BROKER, "");

    private static Map<String, String> node(String role, String... settings) {
        Map<String, String> all = new HashMap<>(Map.of("process.roles", role, "node.id", role.equals("broker") ? "1" : "100",
            "controller.listener.names", "CONTROLLER", "controller.quorum.voters", "100@127.0.0.1:9093",
            "listeners", role.equals("broker") ? "PLAINTEXT://127.0.0.1:0" : "CONTROLLER://127.0.0.1:9093"));
        for (int i = 0; i < settings.length; i += 2)
            all.put(settings[i], settings[i + 1]);
        return all;
    }

    @Test
    void aStaticValueIsNoneThatTopicsGoBy() {
        KafkaConfig config = new KafkaConfig(node("broker", NAME, "3", "broker.rack", "a"));
        assertEquals(3, config.minInSyncRacks());
        assertEquals(1, new LogConfig(config.extractLogConfigMap()).getInt(NAME));
        assertEquals(1, new KafkaConfig(node("broker")).minInSyncRacks());
        assertEquals(NAME, ServerTopicConfigSynonyms.serverSynonym(NAME));
    }

    @Test
    void aTopicHasItsOwnValue() {
        KafkaConfig config = new KafkaConfig(node("broker", NAME, "3", "broker.rack", "a"));
        Properties topic = new Properties();
        topic.put(NAME, "2");
        assertEquals(2, LogConfig.fromProps(config.extractLogConfigMap(), topic).getInt(NAME));
    }

    @Test
    void aBrokerWithoutARackRefusesAStaticValueAboveOne() {
        ConfigException e = assertThrows(ConfigException.class, () -> new KafkaConfig(node("broker", NAME, "2")));
        assertEquals("Invalid value 2 for configuration min.insync.racks: Broker 1 has no broker.rack, so its replicas would count for no rack " +
            "of their own. Set broker.rack on this broker, or set min.insync.racks to 1.", e.getMessage());
        assertThrows(ConfigException.class, () -> new KafkaConfig(node("broker", NAME, "2", "broker.rack", "")));
        assertDoesNotThrow(() -> new KafkaConfig(node("controller", NAME, "2")), "a controller is in no rack");
    }

    @Test
    void valuesBelowOneAreRefusedAtEveryLevel() {
        for (String value : new String[] {"0", "-1", "x", "1.5"}) {
            assertThrows(ConfigException.class, () -> new KafkaConfig(node("broker", NAME, value, "broker.rack", "a")), value);
            assertThrows(ConfigException.class, () -> LogConfig.validate(Map.of(NAME, value)), value);
            assertThrows(InvalidConfigurationException.class, () -> validator("a", "b").validate(DEFAULT, Map.of(NAME, value), Map.of()), value);
        }
    }

    private static KRaftMetadataCache cache(String... racks) {
        return cache(Map.of(), racks);
    }

    /** Brokers in these racks, and topics of one partition with these replicas. */
    private static KRaftMetadataCache cache(Map<String, List<Integer>> topics, String... racks) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        for (int i = 0; i < racks.length; i++)
            delta.replay(new RegisterBrokerRecord().setBrokerId(i + 1).setRack(racks[i]));
        topics.forEach((name, replicas) -> {
            Uuid id = Uuid.randomUuid();
            delta.replay(new TopicRecord().setName(name).setTopicId(id));
            delta.replay(new PartitionRecord().setTopicId(id).setPartitionId(0).setReplicas(replicas).setIsr(replicas).setLeader(replicas.get(0))
                .setDirectories(Collections.nCopies(replicas.size(), DirectoryId.UNASSIGNED)));
        });
        delta.replay(new ConfigRecord().setResourceType(ConfigResource.Type.TOPIC.id()).setResourceName("own").setName(NAME).setValue("1"));
        delta.replay(new FeatureLevelRecord().setName("rackspan.version").setFeatureLevel((short) 1));
        KRaftMetadataCache cache = new KRaftMetadataCache(100, () -> KRaftVersion.LATEST_PRODUCTION);
        cache.setImage(delta.apply(MetadataProvenance.EMPTY));
        return cache;
    }

    /** The validator as the controller has it, brokers in these racks. */
    private static ControllerConfigurationValidator validator(String... racks) {
        return new ControllerConfigurationValidator(new KafkaConfig(node("controller")), RackConfigCheck.of(cache(racks)));
    }

    private static void require(ConfigResource resource, Map<String, String> newConfigs, Map<String, String> oldConfigs, String... racks) {
        RackConfigCheck.requireNamed(resource, newConfigs, oldConfigs, () -> cache(racks).brokerRacks());
    }

    @Test
    void aChangeIsRefusedWhileABrokerHasNoRack() {
        InvalidConfigurationException e = assertThrows(InvalidConfigurationException.class,
            () -> require(TOPIC, Map.of(NAME, "2"), Map.of(), "a", null, "b", ""));
        assertEquals("Topic orders cannot have min.insync.racks=2: brokers [2, 4] have no broker.rack. Set broker.rack on every broker " +
            "and restart it, or unregister brokers that are gone.", e.getMessage());
        e = assertThrows(InvalidConfigurationException.class, () -> require(DEFAULT, Map.of(NAME, "2"), Map.of(), "a", null));
        assertTrue(e.getMessage().startsWith("The cluster default cannot have min.insync.racks=2"), e.getMessage());
    }

    @Test
    void loweringAndOtherChangesAreNeverRefused() {
        assertDoesNotThrow(() -> require(TOPIC, Map.of(NAME, "1"), Map.of(NAME, "3"), "a", null));
        assertDoesNotThrow(() -> require(TOPIC, Map.of(NAME, "2"), Map.of(NAME, "3"), "a", null));
        assertDoesNotThrow(() -> require(TOPIC, Map.of(NAME, "2", "retention.ms", "1000"), Map.of(NAME, "2"), "a", null));
        assertDoesNotThrow(() -> require(DEFAULT, Map.of(), Map.of(NAME, "2"), "a", null));
        assertThrows(InvalidConfigurationException.class, () -> require(TOPIC, Map.of(NAME, "3"), Map.of(NAME, "2"), "a", null));
    }

    @Test
    void moreThanTheKnownRacksIsAllowedWithAWarning() {
        try (LogCaptureAppender log = LogCaptureAppender.createAndRegister(RackConfigCheck.class)) {
            validator("a", "b").validate(TOPIC, Map.of(NAME, "2"), Map.of());
            assertEquals(0, log.getEvents().size());
            validator("a", "b").validate(TOPIC, Map.of(NAME, "3"), Map.of());
            assertEquals("Topic orders now has min.insync.racks=3, but the brokers are in 2 rack(s) only: [a, b]. " +
                "Writes with acks=all are refused until there are more.", log.getMessages().get(0));
        }
    }

    @Test
    void topicsThatAChangeStopsAreNamedInAWarning() {
        KRaftMetadataCache cache = cache(Map.of("logs", List.of(1), "orders", List.of(1, 3), "pair", List.of(1, 2), "own", List.of(2),
            "__consumer_offsets", List.of(1), "__remote_log_metadata", List.of(1)), "a", "a", "b");
        ControllerConfigurationValidator validator = new ControllerConfigurationValidator(new KafkaConfig(node("controller")), RackConfigCheck.of(cache));
        try (LogCaptureAppender log = LogCaptureAppender.createAndRegister(RackConfigCheck.class)) {
            validator.validate(DEFAULT, Map.of(NAME, "2"), Map.of());
            validator.validate(TOPIC, Map.of(NAME, "2"), Map.of());
            validator.validate(new ConfigResource(ConfigResource.Type.TOPIC, "own"), Map.of(NAME, "2"), Map.of(NAME, "1"));
            String more = ". Writes to them with acks=all are refused, by an error that is non-retriable: reassign them to more racks, or set " +
                "min.insync.racks=1 on them.";
            assertEquals(List.of("The cluster default now has min.insync.racks=2, and these topics are in fewer racks: logs, pair" + more,
                "Topic own now has min.insync.racks=2, and these topics are in fewer racks: own" + more), log.getMessages());
        }
    }

    @Test
    void topicsThatAHigherNumberOfReplicasStopsAreNamedInAWarning() {
        String replicas = "min.insync.replicas";
        String action = "min.insync.replicas.inconsistent.action";
        KRaftMetadataCache cache = cache(Map.of("logs", List.of(1), "orders", List.of(1, 3), "__consumer_offsets", List.of(1)), "a", "a", "b");
        ControllerConfigurationValidator validator = new ControllerConfigurationValidator(new KafkaConfig(node("controller")), RackConfigCheck.of(cache));
        try (LogCaptureAppender log = LogCaptureAppender.createAndRegister(RackConfigCheck.class)) {
            validator.validate(DEFAULT, Map.of(replicas, "2"), Map.of(replicas, "1"));
            validator.validate(TOPIC, Map.of(replicas, "3"), Map.of());
            String more = ". Writes to them with acks=all are refused, by an error that is non-retriable: add replicas, lower the value, or set " + action + "=clamp.";
            List<String> warnings = List.of("The cluster default now has min.insync.replicas=2, and these topics have fewer replicas: logs" + more,
                "Topic orders now has min.insync.replicas=3, and these topics have fewer replicas: orders" + more);
            assertEquals(warnings, log.getMessages());
            validator.validate(DEFAULT, Map.of(replicas, "2", action, "clamp"), Map.of());
            validator.validate(TOPIC, Map.of(replicas, "3", action, "clamp"), Map.of());
            validator.validate(DEFAULT, Map.of(replicas, "2"), Map.of(replicas, "2"));
            validator.validate(DEFAULT, Map.of(replicas, "2"), Map.of(replicas, "x"));
            assertEquals(List.of(warnings.get(0)), log.getMessages().subList(2, log.getMessages().size()), "a value that was no number was none");
        }
    }

    @Test
    void aBrokerWarnsOnceOfADefaultThatTheClusterCannotMeet() {
        RackSupplyWarning warning = new RackSupplyWarning();
        BrokerRacks one = BrokerRacks.of(Map.of(1, "a"));
        BrokerRacks two = BrokerRacks.of(Map.of(1, "a", 2, "b"));
        try (LogCaptureAppender log = LogCaptureAppender.createAndRegister(RackSupplyWarning.class)) {
            log.setClassLogger(RackSupplyWarning.class, Level.INFO);
            assertFalse(warning.check(1, BrokerRacks.EMPTY));
            assertTrue(warning.check(2, one));
            assertFalse(warning.check(2, one));
            assertTrue(warning.check(3, two), "another value is another warning");
            assertFalse(warning.check(2, two));
            assertTrue(warning.check(2, one), "it came back");
            assertEquals(4, log.getEvents().size());
            assertEquals("min.insync.racks=2 exceeds the 1 rack(s) that brokers are registered in so far: [a]. Writes with acks=all to topics " +
                "that follow this default are refused until there are more.", log.getMessages().get(0));
            assertEquals("min.insync.racks=2 can be met now: brokers are registered in racks [a, b].", log.getMessages().get(2));
        }
    }

    private static ConfigurationsImage clusterDefault(String value) {
        ConfigurationsDelta delta = new ConfigurationsDelta(ConfigurationsImage.EMPTY, SupportedConfigChecker.TRUE);
        delta.replay(new ConfigRecord().setResourceType(ConfigResource.Type.BROKER.id()).setResourceName("").setName(NAME).setValue(value));
        return delta.apply();
    }

    /** The controller takes it, as it takes it for a topic, so that brokers must be able to start with it. */
    @Test
    void blanksAroundTheClusterDefaultDoNotStopABroker() {
        assertDoesNotThrow(() -> validator("a", "b").validate(DEFAULT, Map.of(NAME, " 2"), Map.of()));
        assertDoesNotThrow(() -> RackConfigCheck.requireOwnRack(7, clusterDefault(" 2"), Optional.of("a")));
        assertThrows(ConfigException.class, () -> RackConfigCheck.requireOwnRack(7, clusterDefault(" 2"), Optional.empty()));
    }

    @Test
    void aStartingBrokerWithoutARackRefusesTheClusterDefault() {
        ConfigurationsImage configs = clusterDefault("2");
        ConfigException e = assertThrows(ConfigException.class, () -> RackConfigCheck.requireOwnRack(7, configs, Optional.empty()));
        assertTrue(e.getMessage().contains("Broker 7 has no broker.rack"), e.getMessage());
        ConfigurationsDelta topic = new ConfigurationsDelta(ConfigurationsImage.EMPTY, SupportedConfigChecker.TRUE);
        topic.replay(new ConfigRecord().setResourceType(ConfigResource.Type.TOPIC.id()).setResourceName("orders").setName(NAME).setValue("2"));
        assertThrows(ConfigException.class, () -> RackConfigCheck.requireOwnRack(7, topic.apply(), Optional.empty()), "a topic's value counts too");
        assertDoesNotThrow(() -> RackConfigCheck.requireOwnRack(7, configs, Optional.of("a")));
        assertDoesNotThrow(() -> RackConfigCheck.requireOwnRack(7, ConfigurationsImage.EMPTY, Optional.empty()));
    }
}
