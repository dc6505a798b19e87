// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;
import org.apache.kafka.storage.internals.log.AppendOrigin;

import com.yammer.metrics.core.Meter;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

import static org.junit.jupiter.api.Assertions.assertEquals;

/** Writes that are accepted and would be refused, with min.insync.racks.shadow=2 in server.properties. Brokers 1 and 2 in rack a, 3 in rack b. */
final class ShadowRefusalsTest extends LeaderTest {

    private static final String SHADOW = "min.insync.racks.shadow";
    private static final int ALL = -1;

    ShadowRefusalsTest() {
        super(Map.of(SHADOW, "2"), "a", "a", "b");
    }

    /** The number that a meter has counted; -1 if there is none. */
    private static long counted(String tags) {
        String bean = "kafka.server:type=ReplicaManager,name=WouldRefuseRequestsPerSec" + tags;
        return KafkaYammerMetrics.defaultRegistry().allMetrics().entrySet().stream().filter(e -> e.getKey().getMBeanName().equals(bean))
            .mapToLong(e -> ((Meter) e.getValue()).count()).findFirst().orElse(-1);
    }

    private void produce(int acks, AppendOrigin origin) {
        broker.produce(acks, origin, 600_000);
        broker.everyoneFetches();
    }

    @Test
    void writesInTooFewRacksAreCountedAndAccepted() {
        broker.lead(List.of(1, 2, 3), Map.of());
        produce(ALL, AppendOrigin.CLIENT);
        assertEquals(0, counted(""));
        assertEquals(-1, counted(",topic=orders"));
        broker.controllerChangesIsr(List.of(1, 2));
        produce(ALL, AppendOrigin.CLIENT);
        produce(ProduceAcks.MIN_INSYNC_REPLICAS, AppendOrigin.CLIENT);
        produce(1, AppendOrigin.CLIENT);
        produce(ALL, AppendOrigin.COORDINATOR);
        assertEquals(2, counted(""), "not acks=1, and not Kafka's own writes");
        assertEquals(2, counted(",topic=orders"));
        assertEquals(5, broker.logEnd());
        broker.deleteTopic();
        assertEquals(-1, counted(",topic=orders"));
        assertEquals(2, counted(""));
    }

    @Test
    void theValueOfATopicCounts() {
        broker.lead(List.of(1, 2, 3), Map.of(SHADOW, "3"));
        produce(ALL, AppendOrigin.CLIENT);
        assertEquals(1, counted(""));
        broker.topicConfig(SHADOW, "0");
        broker.controllerChangesIsr(List.of(1));
        produce(ALL, AppendOrigin.CLIENT);
        assertEquals(1, counted(""), "0 counts nothing");
    }

    @Test
    void whatIsRefusedIsNotCounted() {
        broker.lead(List.of(1, 2, 3), Map.of("min.insync.racks", "2"));
        broker.controllerChangesIsr(List.of(1, 2));
        assertEquals(Errors.NOT_ENOUGH_RACKS, LeaderFixture.now(broker.produce(ALL)).error);
        assertEquals(0, counted(""));
    }

    @Test
    void atLevel0WhatLevel1WouldRefuseIsCounted() {
        broker.publish(LeaderFixture.level(0));
        broker.lead(List.of(1, 3), Map.of("min.insync.replicas", "3"));
        produce(ALL, AppendOrigin.CLIENT);
        assertEquals(1, counted(""), "three replicas are required of two");
        broker.controllerChangesIsr(List.of(1));
        broker.topicConfig("min.insync.replicas", "1");
        produce(ALL, AppendOrigin.CLIENT);
        assertEquals(2, counted(""), "one rack is in sync");
    }
}
