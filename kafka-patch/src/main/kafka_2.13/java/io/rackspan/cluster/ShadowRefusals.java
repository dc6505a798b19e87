// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.server.metrics.KafkaMetricsGroup;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;

import io.rackspan.metadata.InternalTopics;
import io.rackspan.metadata.RackRules;

import com.yammer.metrics.core.Meter;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Counts writes that were accepted and that min.insync.racks.shadow would refuse, or at level 0 of rackspan.version level 1 would: for this
 * broker, and for each topic that has any. Off, it costs the comparison of a number.
 */
public final class ShadowRefusals {

    /** The meters, with a tag for those of a topic. */
    public static final String RATE = "WouldRefuseRequestsPerSec";

    private final KafkaMetricsGroup group;
    private final Meter all;
    private final Map<String, Meter> byTopic = new ConcurrentHashMap<>();

    public ShadowRefusals(KafkaMetricsGroup group) {
        this.group = group;
        this.all = group.newMeter(RATE, "requests", TimeUnit.SECONDS);
    }

    /** Notes that a write with acks=all or acks=min.insync.replicas was appended. */
    public void accepted(String topic, RackGates gates, AppendOrigin origin, RackRules rules) {
        UnifiedLog log = gates.partition().log();
        if (log == null || log.config().minInSyncRacksShadow == 0)
            return;
        if (origin == AppendOrigin.CLIENT && !InternalTopics.contains(topic) && isRefused(log.config(), gates, rules)) {
            all.mark();
            byTopic.computeIfAbsent(topic, name -> group.newMeter(RATE, "requests", TimeUnit.SECONDS, Map.of("topic", name))).mark();
        }
    }

    private static boolean isRefused(LogConfig config, RackGates gates, RackRules rules) {
        return gates.span().isUnder(config.minInSyncRacksShadow, gates.partition().state().isr()) ||
            RackRules.isOff(rules) && config.minInSyncReplicas > gates.partition().replicas().size();
    }

    /** Removes the meter of a topic that this broker has no partition of any more. */
    public void removeTopic(String topic) {
        if (byTopic.remove(topic) != null)
            group.removeMetric(RATE, Map.of("topic", topic));
    }
}
