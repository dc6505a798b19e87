// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.RoundRobinPartitioner;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.InconsistentReplicaConfigurationException;
import org.apache.kafka.common.errors.NotEnoughRacksAfterAppendException;
import org.apache.kafka.common.errors.NotEnoughRacksException;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;

import static org.junit.jupiter.api.Assertions.assertEquals;

/** Applications compile against Kafka's public API: what patches add to it has no types of ours, which may change. */
final class PublicApiTest {

    @ParameterizedTest
    @ValueSource(classes = {KafkaProducer.class, Partitioner.class, ProducerConfig.class, RoundRobinPartitioner.class, Cluster.class, PartitionInfo.class,
        TopicConfig.class, InconsistentReplicaConfigurationException.class, NotEnoughRacksAfterAppendException.class, NotEnoughRacksException.class})
    void aPublicClassHasNoTypesOfOurs(Class<?> api) {
        List<String> found = new ArrayList<>();
        for (Method method : api.getDeclaredMethods())
            addIfOurs(found, method, method.toGenericString());
        for (Constructor<?> constructor : api.getDeclaredConstructors())
            addIfOurs(found, constructor, constructor.toGenericString());
        for (Field field : api.getDeclaredFields())
            addIfOurs(found, field, field.toGenericString());
        assertEquals(List.of(), found);
    }

    private static void addIfOurs(List<String> found, Member member, String text) {
        boolean visible = (member.getModifiers() & (Modifier.PUBLIC | Modifier.PROTECTED)) != 0;
        if (visible && !member.isSynthetic() && text.contains("io.rackspan"))
            found.add(text);
    }
}
