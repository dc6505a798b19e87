// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.storage.internals.log.AppendOrigin;

import io.rackspan.metadata.InternalTopics;

/**
 * The writes that Kafka itself depends on. They wait for the full ISR, and what their partition can never meet is not required
 * of them: a cluster of one broker must work, and a transaction must come to its end.
 */
public final class InternalWrites {

    private InternalWrites() {
    }

    /** True for a write to a topic that Kafka creates for itself, and for one of a coordinator or a transaction marker to any topic. */
    public static boolean contains(String topic, AppendOrigin origin) {
        return origin != AppendOrigin.CLIENT || InternalTopics.contains(topic);
    }
}
