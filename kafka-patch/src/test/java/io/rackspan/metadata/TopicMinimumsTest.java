// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import io.rackspan.protocol.MinInSync;

import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.metadata.KRaftMetadataCache;
import org.apache.kafka.server.common.KRaftVersion;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.util.List;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

final class TopicMinimumsTest {

    private final KRaftMetadataCache cache = new KRaftMetadataCache(1, () -> KRaftVersion.LATEST_PRODUCTION);

    private void publish(ApiMessage... records) {
        MetadataImage now = cache.currentImage();
        MetadataDelta delta = new MetadataDelta.Builder().setImage(now).build();
        for (ApiMessage record : records)
            delta.replay(record);
        cache.setImage(delta.apply(MetadataProvenance.EMPTY));
    }

    @BeforeEach
    void raiseLevel() {
        publish(level(1));
    }

    private static FeatureLevelRecord level(int level) {
        return new FeatureLevelRecord().setName("rackspan.version").setFeatureLevel((short) level);
    }

    private static ConfigRecord config(ConfigResource.Type type, String name, String key, String value) {
        return new ConfigRecord().setResourceType(type.id()).setResourceName(name).setName(key).setValue(value);
    }

    private static MinInSync reported(TopicMinimums minimums, String name) {
        MetadataResponseTopic topic = new MetadataResponseTopic().setName(name);
        TopicMinimums.declare(minimums, List.of(topic));
        return MinInSync.declaredIn(topic);
    }

    @Test
    void aTopicsOwnValueWinsOverTheBrokers() {
        publish(config(ConfigResource.Type.TOPIC, "both", "min.insync.replicas", "3"), config(ConfigResource.Type.TOPIC, "both", "min.insync.racks", " 4 "),
            config(ConfigResource.Type.TOPIC, "replicas", "min.insync.replicas", "3"), config(ConfigResource.Type.TOPIC, "racks", "min.insync.racks", "4"),
            config(ConfigResource.Type.TOPIC, "other", "retention.ms", "5"), config(ConfigResource.Type.BROKER, "7", "min.insync.replicas", "9"),
            config(ConfigResource.Type.BROKER, "", "min.insync.racks", "2"));
        TopicMinimums minimums = cache.topicMinimums(1);
        assertEquals(MinInSync.of(3, 4), reported(minimums, "both"));
        assertEquals(MinInSync.of(3, 2), reported(minimums, "replicas"));
        assertEquals(MinInSync.of(1, 4), reported(minimums, "racks"));
        assertEquals(MinInSync.of(1, 2), reported(minimums, "other"));
        assertEquals(MinInSync.of(1, 2), reported(minimums, "7"));
    }

    @Test
    void isRebuiltOnlyWhenAConfigurationChanges() {
        publish(config(ConfigResource.Type.TOPIC, "t", "min.insync.replicas", "3"));
        TopicMinimums first = cache.topicMinimums(1);
        assertSame(first, cache.topicMinimums(1));
        publish(new TopicRecord().setName("new").setTopicId(org.apache.kafka.common.Uuid.randomUuid()));
        assertSame(first, cache.topicMinimums(1), "no configuration has changed");
        publish(config(ConfigResource.Type.TOPIC, "t", "min.insync.replicas", "2"));
        TopicMinimums second = cache.topicMinimums(1);
        assertNotSame(first, second);
        assertEquals(MinInSync.of(2, 1), reported(second, "t"));
        assertEquals(MinInSync.of(5, 1), reported(cache.topicMinimums(5), "x"), "the default is the broker's at the time");
        publish(config(ConfigResource.Type.BROKER, "", "min.insync.racks", "6"));
        assertEquals(MinInSync.of(5, 6), reported(cache.topicMinimums(5), "x"));
        publish(config(ConfigResource.Type.BROKER, "", "min.insync.racks", null));
        publish(config(ConfigResource.Type.TOPIC, "t", "min.insync.replicas", null));
        assertEquals(MinInSync.of(1, 1), reported(cache.topicMinimums(1), "t"));
    }

    @Test
    void nothingIsReportedAtLevel0() {
        publish(config(ConfigResource.Type.TOPIC, "t", "min.insync.replicas", "3"), level(0));
        MetadataResponseTopic topic = new MetadataResponseTopic().setName("t");
        TopicMinimums.declare(cache.topicMinimums(1), List.of(topic));
        assertEquals(List.of(), topic.unknownTaggedFields());
    }

    @Test
    void aTopicWithAnErrorGetsNoFields() {
        MetadataResponseTopic topic = new MetadataResponseTopic().setName("t").setErrorCode(Errors.TOPIC_AUTHORIZATION_FAILED.code());
        TopicMinimums.declare(cache.topicMinimums(1), List.of(topic));
        assertEquals(List.of(), topic.unknownTaggedFields());
        MetadataResponseTopic ofNoCache = new MetadataResponseTopic().setName("t");
        TopicMinimums.declare(null, List.of(ofNoCache));
        assertEquals(List.of(), ofNoCache.unknownTaggedFields());
    }
}
