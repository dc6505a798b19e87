// SPDX-License-Identifier: Apache-2.0
package io.rackspan.producer;

import io.rackspan.protocol.MinInSync;

import org.apache.kafka.common.Node;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponsePartition;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.requests.MetadataResponse;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The metadata that a broker returns of topic "t" on brokers 1 and 2 in rack a and 3 in rack b; every partition is assigned to all three. */
final class ClusterView {

    static final String TOPIC = "t";
    static final Node ONE = new Node(1, "h", 9001, "a");
    static final Node TWO = new Node(2, "h", 9002, "a");
    static final Node THREE = new Node(3, "h", 9003, "b");

    private ClusterView() {
    }

    /** The answer of a broker that reports minimums, or of a stock one if these are unknown; an ISR per partition, whose first is the leader. */
    static MetadataResponse response(MinInSync minInSync, List<List<Integer>> isrs) {
        List<MetadataResponsePartition> partitions = new ArrayList<>();
        for (List<Integer> isr : isrs)
            partitions.add(new MetadataResponsePartition().setPartitionIndex(partitions.size()).setReplicaNodes(List.of(1, 2, 3)).setIsrNodes(isr)
                .setLeaderId(isr.isEmpty() ? -1 : isr.get(0)).setLeaderEpoch(5));
        MetadataResponseTopic topic = new MetadataResponseTopic().setName(TOPIC).setPartitions(partitions);
        if (minInSync.isKnown())
            topic.unknownTaggedFields().addAll(minInSync.fields());
        return MetadataResponse.prepareResponse((short) 13, 0, List.of(ONE, TWO, THREE), "cluster", 1, List.of(topic), 0);
    }

    @SafeVarargs
    @SuppressWarnings("varargs")
    static MetadataResponse response(MinInSync minInSync, List<Integer>... isrs) {
        return response(minInSync, Arrays.asList(isrs));
    }
}
