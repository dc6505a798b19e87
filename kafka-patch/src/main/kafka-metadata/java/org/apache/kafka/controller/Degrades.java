// SPDX-License-Identifier: Apache-2.0
package org.apache.kafka.controller;

import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ApiError;
import org.apache.kafka.server.common.ApiMessageAndVersion;

import io.rackspan.common.Degrade;
import io.rackspan.metadata.LevelSettings;
import io.rackspan.metadata.RackRules;

import java.time.Instant;
import java.util.AbstractMap.SimpleEntry;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Lowers min.insync.racks of topics for a time. The value in force is min.insync.racks itself, so that leaders and controllers go by one
 * value as ever; {@link Degrade#NAME} beside it keeps the former one, and the controller restores that when the time is over.
 */
final class Degrades {

    private static final long PERIOD_NS = TimeUnit.SECONDS.toNanos(2);
    private static final ConfigResource CLUSTER = new ConfigResource(ConfigResource.Type.BROKER, "");

    private final ConfigurationControlManager configs;
    private final ReplicationControlManager partitions;
    private final FeatureControlManager features;
    private final LongSupplier clockMs;

    Degrades(ConfigurationControlManager configs, ReplicationControlManager partitions, FeatureControlManager features, LongSupplier clockMs) {
        this.configs = configs;
        this.partitions = partitions;
        this.features = features;
        this.clockMs = clockMs;
    }

    /** Alters settings as stock does. */
    interface Base {
        ControllerResult<Map<ConfigResource, ApiError>> alter(Map<ConfigResource, Map<String, Entry<OpType, String>>> changes);
    }

    /** The changes of one resource without the setting itself, which `stored` becomes: null removes it. */
    private record Change(Map<String, Entry<OpType, String>> others, String stored) { }

    /**
     * Alters settings as {@link ConfigurationControlManager#incrementalAlterConfigs} does. Setting {@link Degrade#NAME} sets min.insync.racks
     * too, deleting it restores that; whoever alters min.insync.racks itself ends a degrade, and that value stays.
     *
     * @param base alters settings that are only kept
     * @param who  the principal of the request
     */
    ControllerResult<Map<ConfigResource, ApiError>> alter(Map<ConfigResource, Map<String, Entry<OpType, String>>> changes, Base base, Object who) {
        if (features.rackspanLevel() == 0)
            return base.alter(changes);
        Map<ConfigResource, Map<String, Entry<OpType, String>>> rest = new HashMap<>(changes);
        Map<ConfigResource, ApiError> answers = new HashMap<>();
        Map<ConfigResource, String> stored = new HashMap<>();
        changes.forEach((resource, operations) -> {
            if (resource.type() != ConfigResource.Type.TOPIC)
                return;
            try {
                Change change = change(resource, operations, who);
                if (change != null) {
                    rest.put(resource, change.others);
                    stored.put(resource, change.stored);
                }
            } catch (ConfigException e) {
                rest.remove(resource);
                answers.put(resource, new ApiError(Errors.INVALID_CONFIG, e.getMessage()));
            }
        });
        ControllerResult<Map<ConfigResource, ApiError>> altered = base.alter(rest);
        List<ApiMessageAndVersion> records = new ArrayList<>(altered.records());
        stored.forEach((resource, value) -> {
            if (altered.response().get(resource).isSuccess())
                records.add(record(resource, Degrade.NAME, value));
        });
        answers.putAll(altered.response());
        return LeaderlessElrs.keptBy(ControllerResult.atomicOf(records, answers), partitions, features);
    }

    /** The change of one topic; null if it has nothing to do with a degrade. */
    private Change change(ConfigResource topic, Map<String, Entry<OpType, String>> operations, Object who) {
        Map<String, String> current = configs.getConfigs(topic);
        Degrade present = Degrade.of(current.get(Degrade.NAME));
        Entry<OpType, String> operation = operations.get(Degrade.NAME);
        boolean own = operations.containsKey(LevelSettings.MIN_RACKS);
        Map<String, Entry<OpType, String>> others = new HashMap<>(operations);
        others.remove(Degrade.NAME);
        if (operation != null && operation.getKey() == OpType.SET) {
            if (own)
                throw new ConfigException("Set either " + Degrade.NAME + " or " + LevelSettings.MIN_RACKS + ".");
            String from = present == null ? current.getOrDefault(LevelSettings.MIN_RACKS, "") : present.from();
            int promised = RackRules.minRacks((short) 1, from.isEmpty() ? Map.of() : Map.of(LevelSettings.MIN_RACKS, from), configs.getConfigs(CLUSTER));
            // A value may have a sign or blanks
            Degrade degrade = Degrade.requested(operation.getValue(), from.isEmpty() ? "" : String.valueOf(promised),
                Instant.ofEpochMilli(clockMs.getAsLong()), who.toString());
            if (degrade.to() >= promised)
                throw new ConfigException(Degrade.NAME, operation.getValue(), "Topic " + topic.name() + " requires " + promised + " rack(s): to must be less");
            others.put(LevelSettings.MIN_RACKS, new SimpleEntry<>(OpType.SET, String.valueOf(degrade.to())));
            return new Change(others, degrade.toString());
        }
        if (present == null || !own && (operation == null || operation.getKey() != OpType.DELETE))
            return null;
        if (!own)
            others.put(LevelSettings.MIN_RACKS, present.from().isEmpty() ? new SimpleEntry<>(OpType.DELETE, null) : new SimpleEntry<>(OpType.SET, present.from()));
        return new Change(others, null);
    }

    /** The task that ends those whose time is over. What a change of settings is checked for is not: a rule does not stay lowered. */
    PeriodicTask task() {
        return new PeriodicTask("endDegrades", this::end, PERIOD_NS, EnumSet.noneOf(PeriodicTaskFlag.class));
    }

    private ControllerResult<Boolean> end() {
        List<ApiMessageAndVersion> records = new ArrayList<>();
        if (features.rackspanLevel() > 0)
            configs.allConfigs().forEach((resource, settings) -> {
                Degrade degrade = Degrade.of(settings.get(Degrade.NAME));
                if (degrade == null || degrade.until().toEpochMilli() > clockMs.getAsLong() || records.size() > QuorumController.MAX_RECORDS_PER_USER_OP / 4)
                    return;
                if (String.valueOf(degrade.to()).equals(settings.get(LevelSettings.MIN_RACKS)))
                    records.add(record(resource, LevelSettings.MIN_RACKS, degrade.from().isEmpty() ? null : degrade.from()));
                records.add(record(resource, Degrade.NAME, null));
            });
        records.addAll(configs.createClearElrRecordsAsNeeded(records));
        return LeaderlessElrs.keptBy(ControllerResult.atomicOf(records, false), partitions, features);
    }

    private static ApiMessageAndVersion record(ConfigResource resource, String name, String value) {
        return new ApiMessageAndVersion(new ConfigRecord().setResourceType(resource.type().id()).setResourceName(resource.name())
            .setName(name).setValue(value), (short) 0);
    }
}
