// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.server.metrics.KafkaMetricsGroup;

import java.util.Iterator;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** Gauges of min.insync.racks over all partitions that this broker leads. */
public final class RackMetrics {

    private static final String UNDER = "UnderMinRackIsrPartitionCount";
    private static final String AT = "AtMinRackIsrPartitionCount";

    private static final String DEGRADED = "DegradedMinRackIsrPartitionCount";

    /** Their names. */
    public static final Set<String> GAUGES = Set.of(UNDER, AT, DEGRADED);

    private RackMetrics() {
    }

    /** Adds the gauges; `led` gives the partitions that the broker leads now. */
    public static void addGauges(KafkaMetricsGroup group, Supplier<Iterator<RackGates>> led) {
        group.newGauge(UNDER, () -> count(led.get(), RackGates::isUnder));
        group.newGauge(AT, () -> count(led.get(), RackGates::isAt));
        group.newGauge(DEGRADED, () -> count(led.get(), RackGates::isDegraded));
    }

    private static int count(Iterator<RackGates> led, Predicate<RackGates> what) {
        int count = 0;
        while (led.hasNext())
            if (what.test(led.next()))
                count++;
        return count;
    }
}
