// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.protocol.Message;

/** A partition as the admin client describes it, with its {@link Ledger} and its {@link Electable} set. */
public final class DescribedPartition extends TopicPartitionInfo {

    private final Ledger ledger;
    private final Electable electable;

    private DescribedPartition(TopicPartitionInfo info, Ledger ledger, Electable electable) {
        super(info.partition(), info.leader(), info.replicas(), info.isr(), info.elr(), info.lastKnownElr());
        this.ledger = ledger;
        this.electable = electable;
    }

    /** The description with what the partition in a response has; itself if that has neither. */
    public static TopicPartitionInfo of(TopicPartitionInfo info, Message partition) {
        Ledger ledger = Ledger.in(partition, Ledger.EMPTY);
        Electable electable = Electable.in(partition, Electable.NONE);
        return ledger.ranges().isEmpty() && electable.isEmpty() ? info : new DescribedPartition(info, ledger, electable);
    }

    /** The ledger of a described partition; empty if it has none. */
    public static Ledger ledgerOf(TopicPartitionInfo info) {
        return info instanceof DescribedPartition ? ((DescribedPartition) info).ledger : Ledger.EMPTY;
    }

    /** The electable set of a described partition; empty if it has none. */
    public static Electable electableOf(TopicPartitionInfo info) {
        return info instanceof DescribedPartition ? ((DescribedPartition) info).electable : Electable.NONE;
    }
}
