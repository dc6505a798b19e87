// SPDX-License-Identifier: Apache-2.0
package org.apache.kafka.common.errors;

/**
 * A write is in the log of the leader but is not acknowledged, because racks left the in-sync replicas of the partition
 * before the write was known to be in min.insync.racks of them. Retriable; without idempotence a retry may write it twice.
 */
public class NotEnoughRacksAfterAppendException extends InvalidMetadataException {

    private static final long serialVersionUID = 1L;

    public NotEnoughRacksAfterAppendException(String message) {
        super(message);
    }
}
