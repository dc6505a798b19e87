// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;

import org.junit.jupiter.api.Test;

import java.util.Map;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

final class RackRulesTest {

    private MetadataImage image = MetadataImage.EMPTY;
    private MetadataDelta delta;
    private RackRules rules = RackRules.NONE;

    private RackRules replay(ApiMessage... records) {
        delta = new MetadataDelta.Builder().setImage(image).build();
        for (ApiMessage record : records)
            delta.replay(record);
        image = delta.apply(MetadataProvenance.EMPTY);
        rules = rules.updated(image.features(), image.configs());
        return rules;
    }

    private static FeatureLevelRecord level(int level) {
        return new FeatureLevelRecord().setName("rackspan.version").setFeatureLevel((short) level);
    }

    private static ConfigRecord racks(ConfigResource.Type type, String name, String value) {
        return new ConfigRecord().setResourceType(type.id()).setResourceName(name).setName("min.insync.racks").setValue(value);
    }

    @Test
    void theTopicsValueWinsOverTheClusterDefaultAndNothingIsInForceAtLevel0() {
        ConfigRecord topic = racks(ConfigResource.Type.TOPIC, "t", " 3 ");
        assertSame(RackRules.NONE, replay(topic, racks(ConfigResource.Type.BROKER, "", "2"), racks(ConfigResource.Type.BROKER, "7", "5")));
        assertEquals(1, rules.minRacks("t"));
        replay(level(1));
        assertEquals(3, rules.minRacks("t"));
        assertEquals(2, rules.minRacks("other"));
        assertEquals(2, rules.minRacks());
        replay(racks(ConfigResource.Type.TOPIC, "t", null));
        assertEquals(2, rules.minRacks("t"));
        assertSame(rules, replay(), "nothing has changed");
        assertSame(RackRules.NONE, replay(level(0)));
    }

    @Test
    void theControllerCountsAlike() {
        Map<String, String> topic = Map.of("min.insync.racks", " 3 ");
        Map<String, String> cluster = Map.of("min.insync.racks", "2");
        assertEquals(1, RackRules.minRacks((short) 0, topic, cluster));
        assertEquals(3, RackRules.minRacks((short) 1, topic, cluster));
        assertEquals(2, RackRules.minRacks((short) 1, Map.of(), cluster));
        assertEquals(1, RackRules.minRacks((short) 1, Map.of(), Map.of()));
    }

    @Test
    void aCacheThatIsNoRealOneHasNoRules() {
        assertTrue(RackRules.isOff(null));
        assertEquals(1, RackRules.minRacks(null, "t"));
    }

    @Test
    void theLevelIsGivenUpWhereItIsLoweredTo0() {
        replay(level(1));
        assertFalse(RackRules.areGivenUp(delta, image));
        replay(racks(ConfigResource.Type.BROKER, "", "1"));
        assertFalse(RackRules.areGivenUp(delta, image));
        replay(level(0));
        assertTrue(RackRules.areGivenUp(delta, image));
        replay(racks(ConfigResource.Type.BROKER, "", null));
        assertFalse(RackRules.areGivenUp(delta, image));
    }
}
