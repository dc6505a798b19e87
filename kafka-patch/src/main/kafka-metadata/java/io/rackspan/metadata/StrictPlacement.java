// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.common.errors.InvalidReplicaAssignmentException;

import io.rackspan.protocol.Racks;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.IntFunction;

/**
 * Partitions that are placed in fewer racks than their topic requires, whose writes with acks=all would be refused for ever: the controller warns
 * of them, or refuses to place them so where min.insync.racks.strict.placement is true.
 */
public final class StrictPlacement {

    private static final Logger LOG = LoggerFactory.getLogger(StrictPlacement.class);

    private StrictPlacement() {
    }

    /**
     * Checks where partitions are about to be placed. Internal topics get by with the racks that they are in.
     *
     * @param level    the level of rackspan.version
     * @param topic    the name of the topic
     * @param own      the settings that the topic has, or is created with
     * @param defaults the cluster default of settings
     * @param placed   the replicas of each partition
     * @param rackOf   the rack of a registered broker; null if it is not registered
     * @throws InvalidReplicaAssignmentException if a partition would be in too few racks, and that is to be refused
     */
    public static void check(short level, String topic, Map<String, String> own, Map<String, String> defaults, Collection<List<Integer>> placed,
                             IntFunction<String> rackOf) {
        int required = RackRules.minRacks(level, own, defaults);
        if (required <= 1 || InternalTopics.contains(topic))
            return;
        List<List<Integer>> narrow = placed.stream().filter(replicas -> Racks.span(replicas, rackOf::apply) < required).toList();
        if (narrow.isEmpty())
            return;
        SortedSet<String> racks = new TreeSet<>(narrow.get(0).stream().map(rackOf::apply).filter(Objects::nonNull).toList());
        String found = narrow.size() + " partition(s) of topic " + topic + " would be in fewer racks than " + LevelSettings.MIN_RACKS + "=" + required +
            ": replicas " + narrow.get(0) + " are in [" + BrokerRacks.describe(racks) + "]";
        if (LevelSettings.isStrict(own.getOrDefault(LevelSettings.STRICT, defaults.get(LevelSettings.STRICT))))
            throw new InvalidReplicaAssignmentException(found + ". " + LevelSettings.STRICT + " refuses that: place them in more racks, or create the topic with " +
                LevelSettings.MIN_RACKS + "=1.");
        LOG.warn("{}. Writes to them with acks=all will be refused: place them in more racks, or set {}=1 on the topic.", found, LevelSettings.MIN_RACKS);
    }
}
