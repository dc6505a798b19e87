// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools;

import org.apache.kafka.common.TopicPartitionInfo;

import io.rackspan.protocol.DescribedPartition;
import io.rackspan.protocol.Electable;

import java.util.Collection;
import java.util.stream.Collectors;

/** The electable set of a partition as kafka-topics.sh reports it. */
public final class ElectableDescription {

    private ElectableDescription() {
    }

    /** A column for the end of the partition's line; empty for a partition without a set. */
    public static String of(TopicPartitionInfo info) {
        Electable electable = DescribedPartition.electableOf(info);
        return electable.isEmpty() ? "" : "\tElectable: " + ids(electable.members()) +
            (electable.unclean().isEmpty() ? "" : " (may lack records: " + ids(electable.unclean()) + ")");
    }

    private static String ids(Collection<Integer> brokers) {
        return brokers.stream().map(String::valueOf).collect(Collectors.joining(","));
    }
}
