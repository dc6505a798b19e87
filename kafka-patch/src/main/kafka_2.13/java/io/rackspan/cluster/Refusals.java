// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.errors.InconsistentReplicaConfigurationException;
import org.apache.kafka.common.errors.NotEnoughRacksException;
import org.apache.kafka.common.errors.NotEnoughReplicasException;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.server.metrics.KafkaMetricsGroup;

import com.yammer.metrics.core.Meter;

import java.util.concurrent.TimeUnit;

/** The refusals of this broker's gates: counted, with one line in the log in a while where stock would write a stack trace each. */
public final class Refusals {

    /** The meter of refusals for lack of racks. */
    public static final String RATE = "RackCheckFailureRate";

    private final Meter rate;
    private final InconsistencyLog inconsistencies = new InconsistencyLog();

    public Refusals(KafkaMetricsGroup group) {
        rate = group.newMeter(RATE, "refusals", TimeUnit.SECONDS);
    }

    /** True if the answer to a request with these acks has the text of that error. */
    public static boolean haveText(Throwable error, short acks) {
        return error instanceof NotEnoughRacksException || error instanceof InconsistentReplicaConfigurationException ||
            error instanceof NotEnoughReplicasException && acks == ProduceAcks.MIN_INSYNC_REPLICAS;
    }

    /** Notes the error of an append; returns false if it is not a refusal of a gate. Partitions log shortages themselves. */
    public boolean refused(String topic, Throwable error, short acks, long nowMs) {
        if (!haveText(error, acks))
            return false;
        if (error instanceof NotEnoughRacksException)
            rate.mark();
        else if (error instanceof InconsistentReplicaConfigurationException)
            inconsistencies.refused(topic, error.getMessage(), nowMs);
        return true;
    }

    /** Notes a write that lost the racks that it needs after its append, and puts the reason into its answers. */
    public void refusedAfterAppend(String why, Iterable<PartitionResponse> answers) {
        rate.mark();
        answers.forEach(answer -> answer.errorMessage = why);
    }
}
