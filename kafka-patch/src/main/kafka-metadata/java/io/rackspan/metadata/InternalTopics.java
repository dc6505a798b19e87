// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.common.internals.Topic;

/** The topics that Kafka creates for itself. A cluster of one broker must work with their defaults. */
public final class InternalTopics {

    /** Its name is in a module that the controller does not depend on. */
    static final String REMOTE_LOG_METADATA = "__remote_log_metadata";

    private InternalTopics() {
    }

    /** True for a topic that Kafka creates for itself. */
    public static boolean contains(String topic) {
        return Topic.isInternal(topic) || topic.equals(REMOTE_LOG_METADATA);
    }
}
