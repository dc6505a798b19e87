// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools;

import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.message.DescribeTopicPartitionsResponseData.DescribeTopicPartitionsResponsePartition;
import org.apache.kafka.common.requests.DescribeTopicPartitionsResponse;

import io.rackspan.protocol.Electable;
import io.rackspan.protocol.Ledger;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

import static org.junit.jupiter.api.Assertions.assertEquals;

final class ElectableDescriptionTest {

    private static String described(Electable set) {
        DescribeTopicPartitionsResponsePartition partition = set.into(new DescribeTopicPartitionsResponsePartition())
            .setReplicaNodes(List.of(1, 2, 3)).setIsrNodes(List.of(1)).setEligibleLeaderReplicas(List.of()).setLastKnownElr(List.of());
        TopicPartitionInfo info = DescribeTopicPartitionsResponse.partitionToTopicPartitionInfo(Ledger.EMPTY.into(partition), Map.of());
        return ElectableDescription.of(info);
    }

    @Test
    void theMembersAreListed() {
        assertEquals("\tElectable: 1,3", described(Electable.of(List.of(3, 1))));
    }

    @Test
    void membersThatMayLackRecordsAreNamed() {
        assertEquals("\tElectable: 1,3 (may lack records: 3)", described(Electable.of(List.of(1, 3)).withUnclean(3)));
    }

    @Test
    void aPartitionWithoutASetIsDescribedAsByStock() {
        assertEquals("", described(Electable.NONE));
    }
}
