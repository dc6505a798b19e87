// SPDX-License-Identifier: Apache-2.0
package io.rackspan.prediction;

import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.loader.LoaderManifest;
import org.apache.kafka.image.publisher.MetadataPublisher;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.server.metrics.KafkaMetricsGroup;

import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Topic;
import io.rackspan.prediction.RackFailures.Losses;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Gauges of the active controller: how many racks may be lost at once, whichever they are, without losing availability or data, for the
 * cluster and for each topic; and of how many partitions no member of the electable set may lead. Computed by a thread of its own, at most
 * once in a while. The controllers' own quorum is not counted, as metadata has no racks of controllers.
 */
public final class RackFailureMetrics implements MetadataPublisher {

    /** Of the cluster, and with a tag of a topic; -1 if something is not available now. */
    public static final String AVAILABILITY = "MaxRackFailuresWithoutLosingAvailability";
    public static final String DATA = "MaxRackFailuresWithoutLosingData";

    /** Of the cluster. */
    public static final String NO_ELECTABLE = "PartitionsWithoutElectableReplicaCount";

    private static final long PAUSE_MS = 10_000;

    private final int nodeId;
    private final Map<String, ?> serverProperties;
    private final long pauseMs;
    private final KafkaMetricsGroup group = new KafkaMetricsGroup("kafka.controller", "KafkaController");
    private final ScheduledThreadPoolExecutor thread;

    private final Map<Map<String, String>, RackFailures> values = new HashMap<>();
    private MetadataImage image = MetadataImage.EMPTY;
    private long withoutElectable = 0;
    private boolean active = false;
    private boolean scheduled = false;

    /** @param serverProperties those of this controller */
    public RackFailureMetrics(int nodeId, Map<String, ?> serverProperties) {
        this(nodeId, serverProperties, PAUSE_MS);
    }

    RackFailureMetrics(int nodeId, Map<String, ?> serverProperties, long pauseMs) {
        this.nodeId = nodeId;
        this.serverProperties = serverProperties;
        this.pauseMs = pauseMs;
        this.thread = new ScheduledThreadPoolExecutor(1, task -> {
            Thread made = new Thread(task, "rack-failure-metrics");
            made.setDaemon(true);
            return made;
        });
        thread.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    @Override
    public String name() {
        return "RackFailureMetrics";
    }

    @Override
    public synchronized void onMetadataUpdate(MetadataDelta delta, MetadataImage newImage, LoaderManifest manifest) {
        image = newImage;
        schedule();
    }

    @Override
    public synchronized void onControllerChange(LeaderAndEpoch newLeader) {
        active = newLeader.isLeader(nodeId);
        if (active)
            schedule();
        else
            replace(Map.of(), 0);
    }

    private void schedule() {
        if (active && !scheduled && !thread.isShutdown()) {
            scheduled = true;
            thread.schedule(this::compute, pauseMs, TimeUnit.MILLISECONDS);
        }
    }

    private void compute() {
        MetadataImage now;
        synchronized (this) {
            scheduled = false;
            now = image;
        }
        ClusterView view = ImageView.of(now, serverProperties);
        Map<Map<String, String>, RackFailures> found = failures(view);
        long lacking = view.topics().values().stream().flatMap(topic -> topic.partitions().stream()).filter(Partition::lacksElectable).count();
        synchronized (this) {
            if (active)
                replace(found, lacking);
        }
    }

    /** What the cluster and each topic can bear, by the tags of their gauges. */
    static Map<Map<String, String>, RackFailures> failures(ClusterView view) {
        Losses losses = new Losses(view);
        Map<Map<String, String>, RackFailures> found = new HashMap<>();
        RackFailures all = new RackFailures(view.racks().size(), view.racks().size());
        for (Topic topic : view.topics().values()) {
            RackFailures own = topic.partitions().stream().map(partition -> RackFailures.of(losses, topic, partition)).reduce(all, RackFailures::and);
            found.put(Map.of("topic", topic.name()), own);
        }
        found.put(Map.of(), found.values().stream().reduce(all, RackFailures::and));
        return found;
    }

    private void replace(Map<Map<String, String>, RackFailures> found, long lacking) {
        withoutElectable = lacking;
        Set<Map<String, String>> gone = new HashSet<>(values.keySet());
        gone.removeAll(found.keySet());
        for (Map<String, String> tags : gone) {
            values.remove(tags);
            List.of(AVAILABILITY, DATA).forEach(name -> group.removeMetric(name, tags));
            if (tags.isEmpty())
                group.removeMetric(NO_ELECTABLE, tags);
        }
        found.forEach((tags, failures) -> {
            if (values.put(tags, failures) == null) {
                group.newGauge(AVAILABILITY, () -> value(tags).availability(), tags);
                group.newGauge(DATA, () -> value(tags).data(), tags);
                if (tags.isEmpty())
                    group.newGauge(NO_ELECTABLE, this::withoutElectable, tags);
            }
        });
    }

    private synchronized long withoutElectable() {
        return withoutElectable;
    }

    private synchronized RackFailures value(Map<String, String> tags) {
        return values.getOrDefault(tags, new RackFailures(-1, -1));
    }

    @Override
    public void close() {
        thread.shutdownNow();
        synchronized (this) {
            active = false;
            replace(Map.of(), 0);
        }
    }
}
