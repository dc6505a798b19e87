// SPDX-License-Identifier: Apache-2.0
package org.apache.kafka.controller;

import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.InvalidRegistrationException;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.metadata.ClearElrRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ApiError;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.metadata.VersionRange;
import org.apache.kafka.metadata.bootstrap.BootstrapMetadata;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.EligibleLeaderReplicasVersion;

import io.rackspan.common.RackspanVersion;
import io.rackspan.metadata.BrokerRacks;
import io.rackspan.metadata.InternalTopics;
import io.rackspan.metadata.LevelSettings;
import io.rackspan.protocol.Racks;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Supplier;

/**
 * A change of the level of rackspan.version: what prevents it, and what is written with it. The base checks all else, such as
 * controllers that have not registered and features that the level depends on.
 */
final class RackspanLevel {

    private static final Logger LOG = LoggerFactory.getLogger(RackspanLevel.class);
    private static final String RACKS = LevelSettings.MIN_RACKS;
    private static final String ACTION = LevelSettings.ACTION;

    private final FeatureControlManager features;
    private final ConfigurationControlManager configs;
    private final ReplicationControlManager partitions;
    private final ClusterControlManager brokers;
    private Supplier<Collection<String>> electable = List::of;

    RackspanLevel(FeatureControlManager features, ConfigurationControlManager configs, ReplicationControlManager partitions, ClusterControlManager brokers) {
        this.features = features;
        this.configs = configs;
        this.partitions = partitions;
        this.brokers = brokers;
    }

    /** This with what gives the topics that have electable sets. */
    RackspanLevel withElectable(Supplier<Collection<String>> topics) {
        electable = topics;
        return this;
    }

    /** The result of an update of features, which changes the level only if nothing prevents it. */
    ControllerResult<ApiError> update(Map<String, Short> updates, boolean validateOnly, Supplier<ControllerResult<ApiError>> byTheBase) {
        short from = features.rackspanLevel();
        short to = updates.getOrDefault(RackspanVersion.FEATURE_NAME, from);
        if (to > 0 && updates.getOrDefault(EligibleLeaderReplicasVersion.FEATURE_NAME, (short) 1) < 1)
            return refused(EligibleLeaderReplicasVersion.FEATURE_NAME, 0, "It is needed by " + RackspanVersion.FEATURE_NAME + "=" + to + ": lower that to 0 first.");
        Optional<String> unsupported = to > from ? reasonNotSupported(to) : Optional.empty();
        if (unsupported.isPresent())
            return refused(RackspanVersion.FEATURE_NAME, to, unsupported.get());
        ControllerResult<ApiError> result = byTheBase.get();
        if (to == from || result.response().isFailure())
            return result;
        Optional<String> reason = from == 0 ? reasonNotToRaise() : to < from ? reasonNotToLower(to) : Optional.empty();
        if (reason.isPresent())
            return refused(RackspanVersion.FEATURE_NAME, to, reason.get());
        if (validateOnly || from > 0)
            return result;
        List<ApiMessageAndVersion> records = new ArrayList<>();
        importedRacks().ifPresent(racks -> {
            LOG.info("The cluster default of {} becomes {}, the value in this controller's server.properties.", RACKS, racks);
            records.add(clusterDefault(racks));
            records.add(new ApiMessageAndVersion(new ClearElrRecord(), (short) 0));
        });
        records.addAll(result.records());
        return LeaderlessElrs.keptFromLevel1(ControllerResult.atomicOf(records, result.response()), partitions, features);
    }

    /** The metadata of a new cluster; at level 1 with this controller's static min.insync.racks as cluster default. */
    static BootstrapMetadata withStaticRacks(BootstrapMetadata bootstrap, ConfigurationControlManager configs) {
        String racks = configs.staticValue(RACKS);
        if (bootstrap.featureLevel(RackspanVersion.FEATURE_NAME) == 0 || !LevelSettings.needsLevel(RACKS, racks))
            return bootstrap;
        List<ApiMessageAndVersion> records = new ArrayList<>(bootstrap.records());
        records.add(clusterDefault(racks));
        return BootstrapMetadata.fromRecords(records, bootstrap.source());
    }

    /**
     * A broker without a rack cannot join, or join again, while a topic or the cluster default requires racks: replicas there would count as
     * in a rack of their own, and may be in any.
     *
     * @throws InvalidRegistrationException if it would
     */
    static void requireRack(BrokerRegistrationRequestData request, FeatureControlManager features, ConfigurationControlManager configs) {
        if (features.rackspanLevel() == 0 || Racks.isNamed(request.rack()))
            return;
        SortedSet<String> requiring = new TreeSet<>();
        configs.allConfigs().forEach((resource, settings) -> {
            if (LevelSettings.needsLevel(RACKS, settings.get(RACKS)))
                requiring.add(LevelSettings.words(resource));
        });
        if (requiring.isEmpty())
            return;
        String text = "Broker " + request.brokerId() + " has no broker.rack, and racks are required by " + LevelSettings.named(requiring) +
            ". Set broker.rack on this broker, or set " + RACKS + " to 1.";
        LOG.warn("Registration refused. {}", text);
        throw new InvalidRegistrationException(text);
    }

    private static ApiMessageAndVersion clusterDefault(String racks) {
        return new ApiMessageAndVersion(new ConfigRecord().setResourceType(ConfigResource.Type.BROKER.id()).setResourceName("")
            .setName(RACKS).setValue(racks), (short) 0);
    }

    /** The static value that counts once; none if the cluster has a default already. */
    private Optional<String> importedRacks() {
        String racks = configs.staticValue(RACKS);
        return configs.clusterConfig().containsKey(RACKS) || !LevelSettings.needsLevel(RACKS, racks) ? Optional.empty() : Optional.of(racks);
    }

    /** The base names only the first of the registered nodes that do not support a level. */
    private Optional<String> reasonNotSupported(short level) {
        if (!features.metadataVersionOrThrow().isControllerRegistrationSupported())
            return Optional.empty();
        List<String> nodes = new ArrayList<>();
        features.clusterSupport().brokerSupported().forEachRemaining(node -> addUnlessSupported(nodes, "broker " + node.getKey(), node.getValue(), level));
        features.clusterSupport().controllerSupported().forEachRemaining(node -> addUnlessSupported(nodes, "controller " + node.getKey(), node.getValue(), level));
        return nodes.isEmpty() ? Optional.empty() : Optional.of("These nodes do not support it: " + LevelSettings.named(nodes) +
            ". Start them from a distribution that does, or unregister those that are gone.");
    }

    private static void addUnlessSupported(List<String> nodes, String node, Map<String, VersionRange> supported, short level) {
        if (!supported.getOrDefault(RackspanVersion.FEATURE_NAME, QuorumFeatures.DISABLED).contains(level))
            nodes.add(node);
    }

    /** Everything at once, so that one attempt shows what is left to do. */
    private Optional<String> reasonNotToRaise() {
        List<String> reasons = new ArrayList<>();
        Optional<ApiError> racks = importedRacks().map(value -> configs.validateClusterDefault(RACKS, value)).filter(ApiError::isFailure);
        racks.ifPresent(error ->
            reasons.add("This controller's server.properties have " + RACKS + ", which would become the cluster default. " + error.message()));
        SortedSet<String> narrow = racks.isPresent() ? new TreeSet<>() : importedRacks().map(this::inFewerRacks).orElseGet(TreeSet::new);
        if (!narrow.isEmpty())
            reasons.add("This controller's server.properties have " + RACKS + "=" + importedRacks().get() + ", which would become the cluster " +
                "default. Topics in fewer racks would refuse acks=all from then on: " + LevelSettings.named(narrow) + ". Reassign them, set " + RACKS +
                "=1 on them or as the cluster default, or remove the line.");
        SortedSet<String> inconsistent = new TreeSet<>();
        partitions.forEachPartition((topic, partition) -> {
            if (!InternalTopics.contains(topic) && !configs.currentTopicConfig(topic).containsKey(ACTION) && !configs.clusterConfig().containsKey(ACTION) &&
                partition.replicas.length < Integer.parseInt(configs.getTopicConfig(topic, TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG).value().trim()))
                inconsistent.add(topic);
        });
        if (!inconsistent.isEmpty())
            reasons.add("Topics with fewer replicas than " + TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG + " would refuse acks=all from then on: " +
                LevelSettings.named(inconsistent) + ". Lower the setting or add replicas, set " + ACTION + "=clamp on them, or set it to reject if that is wanted.");
        return together(reasons);
    }

    private static Optional<String> together(List<String> reasons) {
        return reasons.isEmpty() ? Optional.empty() : Optional.of(String.join(" ", reasons));
    }

    /** The topics without a value of their own that have a partition whose replicas are in fewer racks. */
    private SortedSet<String> inFewerRacks(String racks) {
        SortedSet<String> found = new TreeSet<>();
        partitions.forEachPartition((topic, partition) -> {
            if (!InternalTopics.contains(topic) && !configs.currentTopicConfig(topic).containsKey(RACKS) &&
                Racks.span(Replicas.toList(partition.replicas), this::rackOf) < Integer.parseInt(racks))
                found.add(topic);
        });
        return found;
    }

    private String rackOf(int broker) {
        BrokerRegistration registration = brokers.brokerRegistrations().get(broker);
        return registration == null ? BrokerRacks.UNNAMED : registration.rack().orElse(BrokerRacks.UNNAMED);
    }

    private Optional<String> reasonNotToLower(short to) {
        List<String> reasons = to == 0 ? reasonsAgainstStock() : new ArrayList<>();
        Collection<String> topics = electable.get();
        if (!topics.isEmpty())
            reasons.add("Topics have records that were acknowledged with acks=min.insync.replicas and that not all in-sync replicas have: " +
                LevelSettings.named(topics) + ". Stop their producers with that setting, start all brokers, and wait until kafka-topics.sh --describe shows " +
                "no electable set.");
        return together(reasons);
    }

    private List<String> reasonsAgainstStock() {
        SortedSet<String> used = new TreeSet<>();
        configs.allConfigs().forEach((resource, settings) -> settings.forEach((name, value) -> {
            if (LevelSettings.needsLevel(name, value))
                used.add(LevelSettings.words(resource) + " " + name + "=" + value);
        }));
        List<String> reasons = new ArrayList<>();
        if (!used.isEmpty())
            reasons.add("Settings of the present level are in use: " + LevelSettings.named(used) +
                ". Remove them with kafka-racks.sh preflight --level 0 --remove --bootstrap-server HOST:PORT.");
        SortedSet<String> eligible = new TreeSet<>();
        partitions.forEachPartition((topic, partition) -> {
            if (partition.leader < 0 && partition.elr.length > 1 && partitions.getTopicEffectiveMinIsr(topic) < 2)
                eligible.add(topic);
        });
        if (!eligible.isEmpty())
            reasons.add("Partitions of these topics have no leader and several eligible replicas, and one in-sync replica suffices: " +
                LevelSettings.named(eligible) + ". At level 0 the others would stay eligible when one of them leads and acknowledges alone. Start their " +
                "brokers, or set min.insync.replicas of these topics to 2 or more until they have leaders.");
        return reasons;
    }

    private static ControllerResult<ApiError> refused(String feature, int level, String reason) {
        String text = "Invalid update version " + level + " for feature " + feature + ". " + reason;
        LOG.warn(text);
        return ControllerResult.of(List.of(), new ApiError(Errors.INVALID_UPDATE_VERSION, text));
    }
}
