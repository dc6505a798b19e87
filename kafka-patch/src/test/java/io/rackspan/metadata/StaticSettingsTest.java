// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.utils.LogCaptureAppender;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

import static org.junit.jupiter.api.Assertions.assertEquals;

/** Settings in a controller's server.properties that are not in force. */
final class StaticSettingsTest {

    private static final Map<String, String> PROPERTIES = Map.of("min.insync.racks", "+2", "acks.all.scope", "min.insync.replicas",
        "min.insync.replicas.inconsistent.action", "reject", "node.id", "1");

    private MetadataImage image = MetadataImage.EMPTY;
    private final StaticSettingsPublisher publisher = new StaticSettingsPublisher(PROPERTIES);

    private void level(int level) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        delta.replay(new FeatureLevelRecord().setName("rackspan.version").setFeatureLevel((short) level));
        publish(delta);
    }

    private void clusterDefault(String name, String value) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        delta.replay(new ConfigRecord().setResourceType(ConfigResource.Type.BROKER.id()).setResourceName("").setName(name).setValue(value));
        publish(delta);
    }

    private void publish(MetadataDelta delta) {
        image = delta.apply(MetadataProvenance.EMPTY);
        publisher.onMetadataUpdate(delta, image, null);
    }

    @Test
    void aControllerNamesEachOnceAndAgainWhenWhatIsInForceChanges() {
        try (LogCaptureAppender log = LogCaptureAppender.createAndRegister(StaticSettingsWarning.class)) {
            String raise = " in server.properties is not in force: rackspan.version is at level 0. Raise it with kafka-features.sh --bootstrap-server " +
                "HOST:PORT upgrade --feature rackspan.version=2.";
            clusterDefault("retention.ms", "1000");
            assertEquals(List.of("acks.all.scope=min.insync.replicas" + raise, "min.insync.racks=+2" + raise), log.getMessages());
            clusterDefault("min.insync.racks", "2");
            level(1);
            clusterDefault("retention.ms", "2000");
            assertEquals(List.of("acks.all.scope=min.insync.replicas in server.properties is ignored: the cluster default in force is isr. Set that with " +
                "kafka-configs.sh --bootstrap-server HOST:PORT --entity-type brokers --entity-default --alter --add-config acks.all.scope=min.insync.replicas, " +
                "or remove the line."), log.getMessages().subList(2, log.getMessages().size()), "min.insync.racks is what it says, and reject is the default");
            clusterDefault("min.insync.replicas.inconsistent.action", "clamp");
            clusterDefault("min.insync.racks", "3");
            List<String> later = log.getMessages().subList(3, log.getMessages().size());
            assertEquals(2, later.size(), later.toString());
            assertEquals("min.insync.replicas.inconsistent.action=reject in server.properties is ignored: the cluster default in force is clamp.",
                later.get(0).substring(0, later.get(0).indexOf(" Set")));
            assertEquals("min.insync.racks=+2 in server.properties is ignored: the cluster default in force is 3.", later.get(1).substring(0, later.get(1).indexOf(" Set")));
        }
    }
}
