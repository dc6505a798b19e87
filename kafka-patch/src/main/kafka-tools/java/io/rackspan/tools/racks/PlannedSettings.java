// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import org.apache.kafka.common.config.TopicConfig;

import io.rackspan.prediction.ClusterView;
import io.rackspan.common.RackspanVersion;
import io.rackspan.metadata.LevelSettings;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Settings;
import io.rackspan.prediction.ClusterView.Topic;
import io.rackspan.protocol.Electable;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

/** A cluster as it would be with other settings. */
final class PlannedSettings {

    private static final Map<String, Set<String>> WORDS = Map.of(LevelSettings.ACTION, Set.of("clamp", "reject"),
        TopicConfig.ACKS_ALL_SCOPE_CONFIG, Set.of("isr", "min.insync.replicas"),
        TopicConfig.UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG, Set.of("true", "false"));

    private PlannedSettings() {
    }

    /** Reads arguments of the form K=V. */
    static Map<String, String> parse(Collection<String> arguments) throws UsageException {
        Map<String, String> values = new TreeMap<>();
        for (String argument : arguments) {
            int equals = argument.indexOf('=');
            String name = equals < 0 ? argument : argument.substring(0, equals);
            String value = equals < 0 ? "" : argument.substring(equals + 1).trim();
            if (!ClusterView.SETTINGS.contains(name))
                throw new UsageException("'" + argument + "' sets nothing that predictions go by. Settings: " +
                    String.join(", ", new TreeSet<>(ClusterView.SETTINGS)) + ".");
            Set<String> words = WORDS.get(name);
            if (words == null ? !value.matches("0*[1-9]\\d{0,8}") : !words.contains(value))
                throw new UsageException("'" + argument + "' is no value of that setting: it must be " +
                    (words == null ? "an integer of at least 1" : "one of " + String.join(", ", new TreeSet<>(words))) + ".");
            values.put(name, value);
        }
        return values;
    }

    /**
     * The cluster with these values: of the topics that are named, or as the cluster default if `topics` is null, which topics with a
     * value of their own do not go by. A changed minimum makes the controller forget eligible replicas.
     */
    static ClusterView apply(ClusterView view, Map<String, String> values, Collection<String> topics) throws UsageException {
        if (values.isEmpty())
            return view;
        for (Map.Entry<String, String> value : values.entrySet())
            if (view.level() == 0 && LevelSettings.needsLevel(value.getKey(), value.getValue()))
                throw new UsageException(value.getKey() + "=" + value.getValue() + " needs " + RackspanVersion.FEATURE_NAME + " 1, and the cluster is at level 0. " +
                    "Add --level 1 to preflight to see both together.");
        Map<String, String> defaults = new HashMap<>(view.defaults());
        SortedMap<String, Topic> planned = new TreeMap<>(view.topics());
        if (topics == null)
            defaults.putAll(values);
        else
            for (String name : topics) {
                Topic topic = view.topics().get(name);
                Map<String, String> own = new HashMap<>(topic.own());
                own.putAll(values);
                planned.put(name, new Topic(name, Map.copyOf(own), topic.partitions()));
            }
        ClusterView with = new ClusterView(view.level(), view.elr(), view.brokers(), Map.copyOf(defaults), planned, view.voters());
        SortedMap<String, Topic> cleared = new TreeMap<>();
        planned.forEach((name, topic) -> cleared.put(name, isSame(view.settings(view.topics().get(name)), with.settings(topic)) ? topic : cleared(topic, view.level())));
        return with.withTopics(cleared);
    }

    private static boolean isSame(Settings one, Settings other) {
        return one.minReplicas() == other.minReplicas() && one.minRacks() == other.minRacks();
    }

    /** From level 1 on partitions without a leader keep theirs. */
    private static Topic cleared(Topic topic, short level) {
        List<Partition> partitions = topic.partitions().stream().map(p -> p.leader() < 0 && level > 0 ? p : p.withElr(List.of())).toList();
        return new Topic(topic.name(), topic.own(), partitions);
    }

    /** The cluster at another level of rackspan.version. It is not lowered below level 2 before its last electable set is empty. */
    static ClusterView atLevel(ClusterView view, short level) {
        SortedMap<String, Topic> topics = new TreeMap<>(view.topics());
        if (!RackspanVersion.hasElectableSets(level))
            topics.replaceAll((name, topic) -> new Topic(name, topic.own(), topic.partitions().stream().map(p -> p.withElectable(Electable.NONE)).toList()));
        return new ClusterView(level, view.elr(), view.brokers(), view.defaults(), topics, view.voters());
    }
}
