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

/**
 * What this broker acknowledges above the high watermark, and the electable sets that keep it: gauges over all partitions that it leads, and meters.
 */
public final class QuorumMetrics {

    private static final String RECORDS = "AckedAboveHighWatermarkRecords";
    private static final String BYTES = "AckedAboveHighWatermarkBytes";
    private static final String SETS = "PartitionsWithElectableSet";
    private static final String WAIT = "ElectableSetMaxWaitMs";

    /** The names of the gauges. */
    public static final Set<String> GAUGES = Set.of(RECORDS, BYTES, SETS, WAIT);

    /** The meter of records that are acknowledged before the high watermark reaches them. */
    public static final String RATE = "AckedAboveHighWatermarkRecordsPerSec";

    /** The meter of electable sets that the controller has accepted from this broker, empty ones included. */
    public static final String CHANGES = "ElectableSetChangesPerSec";

    private final Meter rate;
    private final Meter changes;
    private final Refusals refusals;

    /** Adds the metrics; `led` gives the partitions that the broker leads now. */
    public QuorumMetrics(KafkaMetricsGroup group, Supplier<Iterator<QuorumGates>> led, Refusals refusals) {
        this.rate = group.newMeter(RATE, "records", TimeUnit.SECONDS);
        this.changes = group.newMeter(CHANGES, "changes", TimeUnit.SECONDS);
        this.refusals = refusals;
        group.newGauge(RECORDS, () -> sum(led.get(), QuorumGates::exposedRecords));
        group.newGauge(BYTES, () -> sum(led.get(), QuorumGates::exposedBytes));
        group.newGauge(SETS, () -> (int) sum(led.get(), gates -> gates.hasElectable() ? 1 : 0));
        group.newGauge(WAIT, () -> max(led.get(), gates -> gates.electable().waitMs()));
    }

    /** Another electable set of a partition is in force. */
    public void electableSetChanged() {
        changes.mark();
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
            answers.get().forEach(answer -> rate.mark(gates.acknowledged(waiter, answer.baseOffset, requiredOffset)));
    }

    private static long sum(Iterator<QuorumGates> led, ToLongFunction<QuorumGates> what) {
        long sum = 0;
        while (led.hasNext())
            sum += what.applyAsLong(led.next());
        return sum;
    }

    private static long max(Iterator<QuorumGates> led, ToLongFunction<QuorumGates> what) {
        long max = 0;
        while (led.hasNext())
            max = Math.max(max, what.applyAsLong(led.next()));
        return max;
    }
}
