// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidConfigurationException;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.Verdict;
import io.rackspan.common.Degrade;
import io.rackspan.prediction.ClusterView.Topic;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;

/** degrade and restore: min.insync.racks of topics, lowered for a time by the controller. */
final class DegradeVerb {

    private DegradeVerb() {
    }

    /**
     * Asks for one change of each topic.
     *
     * @param request what the setting becomes; null to remove it
     * @return the refusals by topic
     */
    static Map<String, String> alter(Admin admin, Collection<Topic> topics, String request) throws ExecutionException, InterruptedException {
        ConfigEntry entry = new ConfigEntry(Degrade.NAME, request == null ? "" : request);
        Map<ConfigResource, Collection<AlterConfigOp>> changes = new LinkedHashMap<>();
        for (Topic topic : topics)
            changes.put(new ConfigResource(ConfigResource.Type.TOPIC, topic.name()), List.of(new AlterConfigOp(entry, request == null ? OpType.DELETE : OpType.SET)));
        Map<String, String> refusals = new LinkedHashMap<>();
        for (Map.Entry<ConfigResource, KafkaFuture<Void>> answer : admin.incrementalAlterConfigs(changes).values().entrySet()) {
            try {
                answer.getValue().get();
            } catch (ExecutionException e) {
                if (!(e.getCause() instanceof InvalidConfigurationException))
                    throw e;
                refusals.put(answer.getKey().name(), e.getCause().getMessage());
            }
        }
        return refusals;
    }

    /** The degrade of a topic; null if it has none. */
    static Degrade of(Topic topic) {
        return Degrade.of(topic.own().get(Degrade.NAME));
    }

    /** True if a topic has what was requested: no degrade, or another than before. */
    static boolean isApplied(String request, Topic topic, Collection<Topic> before) {
        Degrade now = of(topic);
        return request == null ? now == null : now != null && before.stream().filter(t -> t.name().equals(topic.name())).noneMatch(t -> now.equals(of(t)));
    }

    /** Prints the topics as they are after the change. */
    static int print(String verb, ClusterView view, Collection<Topic> topics, Map<String, String> refusals, Output output) {
        Verdict answer = refusals.isEmpty() ? Verdict.YES : Verdict.NO;
        if (output.isJson()) {
            List<Object> found = new ArrayList<>();
            for (Topic topic : topics) {
                Map<String, Object> one = new LinkedHashMap<>();
                one.put("topic", topic.name());
                one.put("minInsyncRacks", view.settings(topic).minRacks());
                one.put("degrade", document(of(topic)));
                one.put("refusal", refusals.get(topic.name()));
                found.add(one);
            }
            Map<String, Object> document = Output.document(verb, answer);
            document.put("topics", found);
            output.json(document);
            return answer.exitCode();
        }
        for (Topic topic : topics) {
            String refusal = refusals.get(topic.name());
            output.line(refusal == null ? line(view, topic) : topic.name() + " is unchanged: " + refusal);
        }
        return answer.exitCode();
    }

    /** The min.insync.racks of a topic, and what it would be without its degrade. */
    static String line(ClusterView view, Topic topic) {
        int racks = view.settings(topic).minRacks();
        Degrade degrade = of(topic);
        if (degrade == null)
            return topic.name() + ": min.insync.racks=" + racks;
        return topic.name() + ": min.insync.racks=" + racks + " in place of " + (degrade.from().isEmpty() ? "the cluster default" : degrade.from()) +
            " from " + degrade.since() + " until " + degrade.until() + ", by " + degrade.by() + ": " + degrade.reason();
    }

    /** The fields of a document; null for null. */
    static Map<String, Object> document(Degrade degrade) {
        if (degrade == null)
            return null;
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("to", degrade.to());
        found.put("from", degrade.from().isEmpty() ? null : Integer.valueOf(degrade.from()));
        found.put("since", degrade.since().toString());
        found.put("until", degrade.until().toString());
        found.put("by", degrade.by());
        found.put("reason", degrade.reason());
        return found;
    }
}
