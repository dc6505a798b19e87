// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.metrics.KafkaMetricsGroup;

import com.yammer.metrics.core.Meter;

import java.util.Iterator;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/** What this broker acknowledges above the high watermark: gauges over all partitions that it leads, and a meter. */
public final class QuorumMetrics {

    private static final String RECORDS = "AckedAboveHighWatermarkRecords";
    private static final String BYTES = "AckedAboveHighWatermarkBytes";

    /** The names of the gauges. */
    public static final Set<String> GAUGES = Set.of(RECORDS, BYTES);

    /** The meter of records that are acknowledged before the high watermark reaches them. */
    public static final String RATE = "AckedAboveHighWatermarkRecordsPerSec";

    private final Meter rate;
    private final Refusals refusals;

    /** Adds the metrics; `led` gives the partitions that the broker leads now. */
    public QuorumMetrics(KafkaMetricsGroup group, Supplier<Iterator<QuorumGates>> led, Refusals refusals) {
        this.rate = group.newMeter(RATE, "records", TimeUnit.SECONDS);
        this.refusals = refusals;
        group.newGauge(RECORDS, () -> sum(led.get(), QuorumGates::exposedRecords));
        group.newGauge(BYTES, () -> sum(led.get(), QuorumGates::exposedBytes));
    }

    /**
     * Notes what a check of a waiting request gave on one partition: counts what its quorum acknowledges, or puts the reason of a
     * refusal into its answers. With an answer the wait is over.
     *
     * @param gates   null if the partition is not online here
     * @param waiter  null if the request waits for the full ISR
     * @param answers those of the request for this partition
     */
    public void checked(QuorumGates gates, AckQuorum.Waiter waiter, boolean enough, Errors error, long requiredOffset,
                        Supplier<Iterable<PartitionResponse>> answers, Time time) {
        if (waiter != null && (enough || error != Errors.NONE))
            waiter.release();
        if (gates == null)
            return;
        if (error == Errors.NOT_ENOUGH_RACKS_AFTER_APPEND)
            refusals.refusedAfterAppend(gates.refusalAfterAppend(error, time), answers.get());
        else if (waiter != null && error == Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND) {
            String why = gates.refusalAfterAppend(error, time);
            answers.get().forEach(answer -> answer.errorMessage = why);
        } else if (waiter != null && enough && error == Errors.NONE)
            answers.get().forEach(answer -> rate.mark(gates.acknowledged(answer.baseOffset, requiredOffset)));
    }

    private static long sum(Iterator<QuorumGates> led, ToLongFunction<QuorumGates> what) {
        long sum = 0;
        while (led.hasNext())
            sum += what.applyAsLong(led.next());
        return sum;
    }
}
