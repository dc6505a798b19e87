// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.Map;

import static org.junit.jupiter.api.Assertions.assertEquals;

final class RemovedTopicTest {

    private static final ConfigResource TOPIC = new ConfigResource(ConfigResource.Type.TOPIC, "t");

    private static MetadataDelta after(MetadataImage image) {
        return new MetadataDelta.Builder().setImage(image).build();
    }

    /** A node that starts reads both at once; one that runs reads the removal later. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void settingsGoWithTheirTopic(boolean atOnce) {
        Uuid id = Uuid.randomUuid();
        MetadataDelta delta = after(MetadataImage.EMPTY);
        delta.replay(new TopicRecord().setName("t").setTopicId(id));
        delta.replay(new ConfigRecord().setResourceType(TOPIC.type().id()).setResourceName("t").setName("min.insync.racks").setValue("2"));
        if (!atOnce)
            delta = after(delta.apply(MetadataProvenance.EMPTY));
        delta.replay(new RemoveTopicRecord().setTopicId(id));
        assertEquals(Map.of(), delta.apply(MetadataProvenance.EMPTY).configs().resourceData());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aTopicOfTheSameNameHasSettingsOfItsOwn(boolean atOnce) {
        Uuid id = Uuid.randomUuid();
        MetadataDelta delta = after(MetadataImage.EMPTY);
        delta.replay(new TopicRecord().setName("t").setTopicId(id));
        delta.replay(new ConfigRecord().setResourceType(TOPIC.type().id()).setResourceName("t").setName("min.insync.racks").setValue("2"));
        if (!atOnce)
            delta = after(delta.apply(MetadataProvenance.EMPTY));
        delta.replay(new RemoveTopicRecord().setTopicId(id));
        delta.replay(new TopicRecord().setName("t").setTopicId(Uuid.randomUuid()));
        delta.replay(new ConfigRecord().setResourceType(TOPIC.type().id()).setResourceName("t").setName("retention.ms").setValue("1"));
        assertEquals(Map.of("retention.ms", "1"), delta.apply(MetadataProvenance.EMPTY).configs().configMapForResource(TOPIC));
    }
}
