// SPDX-License-Identifier: Apache-2.0
package org.apache.kafka.common.errors;

/**
 * A write was refused, and nothing was appended, because its topic requires more in-sync replicas, or racks, than the partition
 * has at all. Not retriable: it takes a change of the topic's configuration or of the assignment.
 */
public class InconsistentReplicaConfigurationException extends ApiException {

    private static final long serialVersionUID = 1L;

    public InconsistentReplicaConfigurationException(String message) {
        super(message);
    }
}
