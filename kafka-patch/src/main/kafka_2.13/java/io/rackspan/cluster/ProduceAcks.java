// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.server.metrics.KafkaMetricsGroup;

import io.rackspan.common.RackspanVersion;
import io.rackspan.metadata.RackRules;

import com.yammer.metrics.core.Histogram;
import com.yammer.metrics.core.Meter;

import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The values of acks that a produce request may have, and what producers get for each: requests, and milliseconds from the
 * append to the answer. A request counts under the value that the client sent.
 */
public final class ProduceAcks {

    /** acks=min.insync.replicas as requests carry it. */
    public static final short MIN_INSYNC_REPLICAS = -2;

    private static final String REQUESTS = "RequestsPerSec";
    private static final String LATENCY = "LatencyMs";

    /** By acks - MIN_INSYNC_REPLICAS. */
    private static final String[] NAMES = {"min.insync.replicas", "all", "0", "1"};

    private final KafkaMetricsGroup group = new KafkaMetricsGroup("kafka.server", "ProduceAcks");
    private final Meter[] requests = new Meter[NAMES.length];
    private final Histogram[] latencies = new Histogram[NAMES.length];

    public ProduceAcks() {
        for (int i = 0; i < NAMES.length; i++) {
            Map<String, String> tags = Map.of("acks", NAMES[i]);
            requests[i] = group.newMeter(REQUESTS, "requests", TimeUnit.SECONDS, tags);
            latencies[i] = group.newHistogram(LATENCY, true, tags);
        }
    }

    public static boolean isValid(short acks) {
        return acks >= MIN_INSYNC_REPLICAS && acks <= 1;
    }

    /** True for acks that the level of rackspan.version does not allow yet. */
    public static boolean isBelowLevel(short acks, RackRules rules) {
        return acks == MIN_INSYNC_REPLICAS && RackRules.isOff(rules);
    }

    /** These answers with the reason why the level does not allow such a request. */
    public static Map<TopicIdPartition, PartitionResponse> belowLevel(Map<TopicIdPartition, PartitionResponse> answers) {
        answers.values().forEach(answer -> answer.errorMessage = "acks=min.insync.replicas (-2) needs " + RackspanVersion.FEATURE_NAME +
            " 1, and the cluster is at level 0. " + RackspanVersion.howToRaise());
        return answers;
    }

    /** True for the error of a write that has become impossible to acknowledge, which is in the log nevertheless. */
    public static boolean isRefusalAfterAppend(Errors error) {
        return error == Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND || error == Errors.NOT_ENOUGH_RACKS_AFTER_APPEND;
    }

    /** A request with these acks, which are valid, was answered this long after its append began. */
    public void answered(short acks, long latencyMs) {
        int i = acks - MIN_INSYNC_REPLICAS;
        requests[i].mark();
        latencies[i].update(latencyMs);
    }

    public void remove() {
        for (String name : NAMES) {
            group.removeMetric(REQUESTS, Map.of("acks", name));
            group.removeMetric(LATENCY, Map.of("acks", name));
        }
    }
}
