// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.server.partition.CommittedPartitionState;
import org.apache.kafka.server.partition.PendingPartitionChange;

import java.util.Set;

/** A proposal that leaves the ISR as it is: the controller is asked to note something in the ledger of the partition. */
public record PendingNote(LeaderAndIsr sentLeaderAndIsr, CommittedPartitionState lastCommittedState) implements PendingPartitionChange {

    @Override
    public Set<Integer> isr() {
        return lastCommittedState.isr();
    }

    @Override
    public Set<Integer> maximalIsr() {
        return lastCommittedState.isr();
    }

    @Override
    public LeaderRecoveryState leaderRecoveryState() {
        return lastCommittedState.leaderRecoveryState();
    }

    @Override
    public boolean isInflight() {
        return true;
    }
}
