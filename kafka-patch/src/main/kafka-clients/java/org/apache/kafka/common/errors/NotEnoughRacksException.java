// SPDX-License-Identifier: Apache-2.0
package org.apache.kafka.common.errors;

/**
 * A write was refused, and nothing was appended, because the in-sync replicas of the partition are in fewer racks than
 * min.insync.racks requires. Retriable: racks may come back, and the leader may be elsewhere by then.
 */
public class NotEnoughRacksException extends InvalidMetadataException {

    private static final long serialVersionUID = 1L;

    public NotEnoughRacksException(String message) {
        super(message);
    }
}
