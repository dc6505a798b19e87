// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.protocol.Message;

/** A partition as the admin client describes it, with its {@link Ledger}. */
public final class LedgerPartitionInfo extends TopicPartitionInfo {

    private final Ledger ledger;

    private LedgerPartitionInfo(TopicPartitionInfo info, Ledger ledger) {
        super(info.partition(), info.leader(), info.replicas(), info.isr(), info.elr(), info.lastKnownElr());
        this.ledger = ledger;
    }

    /** The description with the ledger of the partition in a response; itself if that has none. */
    public static TopicPartitionInfo of(TopicPartitionInfo info, Message partition) {
        Ledger ledger = Ledger.in(partition, Ledger.EMPTY);
        return ledger.ranges().isEmpty() ? info : new LedgerPartitionInfo(info, ledger);
    }

    /** The ledger of a described partition; empty if it has none. */
    public static Ledger ledgerOf(TopicPartitionInfo info) {
        return info instanceof LedgerPartitionInfo ? ((LedgerPartitionInfo) info).ledger : Ledger.EMPTY;
    }
}
