// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.metadata.KRaftMetadataCache;
import org.apache.kafka.server.common.KRaftVersion;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A metadata response of fifty topics of ten partitions, from the cache to the bytes. `on`: brokers report what topics require to be in sync. */
@State(Scope.Benchmark)
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 3, time = 1)
public class MetadataBenchmark {

    @Param({"3", "5", "9"})
    public int replicas;

    @Param({"off", "on"})
    public String feature;

    private final KRaftMetadataCache cache = new KRaftMetadataCache(1, () -> KRaftVersion.LATEST_PRODUCTION);
    private final Set<String> topics = IntStream.range(0, 50).mapToObj(i -> "topic-" + i).collect(Collectors.toSet());

    @Setup
    public void fill() {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        replay(delta, LeaderFixture.level(1));
        for (int id = 1; id <= replicas; id++)
            replay(delta, LeaderFixture.broker(id, "rack" + id % 3, 1));
        List<Integer> ids = IntStream.rangeClosed(1, replicas).boxed().toList();
        for (String topic : topics) {
            Uuid uuid = Uuid.randomUuid();
            replay(delta, new TopicRecord().setName(topic).setTopicId(uuid));
            for (int partition = 0; partition < 10; partition++)
                replay(delta, new PartitionRecord().setTopicId(uuid).setPartitionId(partition).setReplicas(ids).setIsr(ids)
                    .setLeader(1).setLeaderEpoch(1).setPartitionEpoch(1).setDirectories(ids.stream().map(id -> Uuid.ZERO_UUID).toList()));
            replay(delta, LeaderFixture.config(ConfigResource.Type.TOPIC, topic, "min.insync.replicas", "2"));
        }
        cache.setImage(delta.apply(new MetadataProvenance(1, 1, 1, true)));
    }

    private static void replay(MetadataDelta delta, ApiMessage record) {
        delta.replay(record);
    }

    @Benchmark
    public Object respond() {
        List<MetadataResponseTopic> found = cache.getTopicMetadata(topics, ListenerName.normalised("PLAINTEXT"), false, false);
        if (feature.equals("on"))
            Ours.declare(cache, found);
        MetadataResponseData response = new MetadataResponseData();
        response.topics().addAll(found);
        return MessageUtil.toByteBufferAccessor(response, ApiKeys.METADATA.latestVersion()).buffer();
    }

    /** Calls that stock jars lack; loaded only where it is used. */
    private static final class Ours {

        private static void declare(KRaftMetadataCache cache, List<MetadataResponseTopic> topics) {
            io.rackspan.metadata.TopicMinimums.declare(cache.topicMinimums(1), topics);
        }
    }
}
