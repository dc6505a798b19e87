// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.Prediction;
import io.rackspan.prediction.Verdict;
import io.rackspan.prediction.ClusterView.Broker;
import io.rackspan.prediction.ClusterView.Topic;
import io.rackspan.prediction.ClusterView.Voter;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Parts of documents that several verbs have. */
final class Summary {

    private Summary() {
    }

    /** The answers for a topic: the worst of its partitions, for each question. */
    static Map<String, Object> ofTopic(Topic topic, List<Prediction> partitions) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("topic", topic.name());
        found.put("partitions", partitions.size());
        Prediction worst = worst(partitions);
        found.putAll(answers(worst));
        found.put("refusing", partitions.stream().filter(p -> p.writable() == Verdict.NO).count());
        found.put("reason", reason(partitions));
        return found;
    }

    /** The answers of one prediction by name. */
    static Map<String, Object> answers(Prediction p) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("fine", p.fine());
        found.put("writable", byAcks(p.writable(), p.writableFew(), p.writableOne()));
        found.put("readable", p.readable());
        found.put("visible", p.visible());
        found.put("electable", p.electable());
        Map<String, Object> safe = new LinkedHashMap<>();
        safe.put("acksAll", p.safe());
        safe.put("acksMinInsyncReplicas", p.safeFew());
        found.put("safe", safe);
        return found;
    }

    private static Map<String, Object> byAcks(Verdict all, Verdict few, Verdict one) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("acksAll", all);
        found.put("acksMinInsyncReplicas", few);
        found.put("acks1", one);
        return found;
    }

    static Map<String, Object> ofPartition(ClusterView view, Prediction p) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("topic", p.topic());
        found.put("partition", p.partition());
        found.put("leader", p.leader());
        found.put("isr", p.isr());
        found.put("racksInSync", view.racksOf(p.isr()));
        found.putAll(answers(p));
        found.put("refusal", p.refusal());
        found.put("reason", p.reason());
        return found;
    }

    /** A prediction that has the worst answer to each question. */
    static Prediction worst(Collection<Prediction> partitions) {
        return partitions.stream().reduce((one, other) -> new Prediction(one.topic(), -1, -1, List.of(), one.writable().and(other.writable()),
            one.writableFew().and(other.writableFew()), one.writableOne().and(other.writableOne()), one.readable().and(other.readable()),
            one.visible().and(other.visible()), one.electable().and(other.electable()), one.safe().and(other.safe()),
            one.safeFew().and(other.safeFew()), null, "")).orElseThrow();
    }

    /** The first reason of the partitions that are worst off, and how many partitions have one. */
    static String reason(Collection<Prediction> partitions) {
        List<Prediction> affected = partitions.stream().filter(p -> !p.reason().isEmpty()).toList();
        if (affected.isEmpty())
            return "";
        Prediction first = affected.stream().max((one, other) -> one.fine().compareTo(other.fine())).orElseThrow();
        String more = affected.size() > 1 ? " (and " + (affected.size() - 1) + " more)" : "";
        return "partition " + first.partition() + ": " + first.reason() + more;
    }

    /** The cluster itself. */
    static Map<String, Object> ofCluster(ClusterView view) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("rackspanVersion", view.level());
        found.put("eligibleLeaderReplicas", view.elr());
        Map<String, Object> racks = new TreeMap<>();
        for (String rack : view.racks())
            racks.put(rack, view.brokersIn(List.of(rack)));
        found.put("racks", racks);
        found.put("fencedBrokers", view.brokers().values().stream().filter(Broker::fenced).map(Broker::id).toList());
        found.put("voters", view.voters().stream().map(Summary::ofVoter).toList());
        return found;
    }

    private static Map<String, Object> ofVoter(Voter voter) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("id", voter.id());
        found.put("rack", voter.rack());
        found.put("alive", voter.alive());
        return found;
    }

    static Map<String, Object> ofFailures(int availability, int data) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("withoutLosingAvailability", availability);
        found.put("withoutLosingData", data);
        return found;
    }
}
