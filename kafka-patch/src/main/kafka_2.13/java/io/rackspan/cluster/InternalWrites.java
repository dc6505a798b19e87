package io.rackspan.cluster;

import org.apache.kafka.common.internals.Topic;
import org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManagerConfig;
import org.apache.kafka.storage.internals.log.AppendOrigin;

/**
 * The writes that Kafka itself depends on. They wait for the full ISR, and what their partition can never meet is not required
 * of them: a cluster of one broker must work, and a transaction must come to its end.
 */
public final class InternalWrites {

    private InternalWrites() {
    }

    /** True for the topics that Kafka creates for itself. */
    public static boolean isInternal(String topic) {
        return Topic.isInternal(topic) || topic.equals(TopicBasedRemoteLogMetadataManagerConfig.REMOTE_LOG_METADATA_TOPIC_NAME);
    }

    /** True for a write to such a topic, and for one of a coordinator or a transaction marker to any topic. */
    public static boolean contains(String topic, AppendOrigin origin) {
        return origin != AppendOrigin.CLIENT || isInternal(topic);
    }
}
