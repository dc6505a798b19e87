// SPDX-License-Identifier: Apache-2.0
package io.rackspan.prediction;

import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.image.ConfigurationsImage;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.TopicImage;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.server.common.EligibleLeaderReplicasVersion;

import io.rackspan.common.RackspanVersion;
import io.rackspan.prediction.ClusterView.Broker;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Topic;
import io.rackspan.protocol.Racks;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** The cluster of a metadata image, as a controller has it. */
final class ImageView {

    private static final ConfigResource CLUSTER = new ConfigResource(ConfigResource.Type.BROKER, "");

    private ImageView() {
    }

    /**
     * The view; it has no voters.
     *
     * @param serverProperties of the controller, which count where the cluster has no default
     */
    static ClusterView of(MetadataImage image, Map<String, ?> serverProperties) {
        SortedMap<Integer, Broker> brokers = new TreeMap<>();
        for (BrokerRegistration broker : image.cluster().brokers().values())
            brokers.put(broker.id(), new Broker(broker.id(), broker.rack().orElse(Racks.UNNAMED), broker.fenced()));
        Map<String, String> defaults = new HashMap<>();
        for (String name : ClusterView.SETTINGS) {
            Object own = serverProperties.get(name);
            if (own != null)
                defaults.put(name, own.toString());
        }
        defaults.putAll(settings(image.configs(), CLUSTER));
        SortedMap<String, Topic> topics = new TreeMap<>();
        for (TopicImage topic : image.topics().topicsById().values())
            topics.put(topic.name(), new Topic(topic.name(), settings(image.configs(), new ConfigResource(ConfigResource.Type.TOPIC, topic.name())), partitions(topic)));
        Map<String, Short> levels = image.features().finalizedVersions();
        boolean elr = levels.getOrDefault(EligibleLeaderReplicasVersion.FEATURE_NAME, (short) 0) > 0;
        return new ClusterView(RackspanVersion.levelIn(levels), elr, brokers, Map.copyOf(defaults), topics, List.of());
    }

    private static Map<String, String> settings(ConfigurationsImage configs, ConfigResource resource) {
        Map<String, String> found = new HashMap<>(configs.configMapForResource(resource));
        found.keySet().retainAll(ClusterView.SETTINGS);
        return Map.copyOf(found);
    }

    private static List<Partition> partitions(TopicImage topic) {
        List<Partition> found = new ArrayList<>();
        new TreeMap<>(topic.partitions()).forEach((index, partition) -> found.add(partition(index, partition)));
        return List.copyOf(found);
    }

    private static Partition partition(int index, PartitionRegistration now) {
        return new Partition(index, now.leader, Replicas.toList(now.replicas), Replicas.toList(now.isr), Replicas.toList(now.elr), Replicas.toList(now.addingReplicas))
            .withElectable(now.electable);
    }
}
