// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.Predictor;
import io.rackspan.prediction.Prediction;
import io.rackspan.prediction.Verdict;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Topic;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** preflight: what would be refused with other settings or at another level, by what is in sync now. */
final class PreflightVerb {

    private record Change(Topic topic, Verdict answer, long refusing, List<Prediction> worse) { }

    private PreflightVerb() {
    }

    /**
     * @param planned the same cluster as it would be
     * @param stock   what is in the way of stock nodes, which no is the answer to unless it is nothing; null if that is not asked
     */
    static int run(ClusterView view, ClusterView planned, Collection<Topic> topics, StockSettings stock, Output output) {
        List<Change> changes = topics.stream().map(topic -> change(view, planned, topic)).toList();
        Verdict answer = changes.stream().map(Change::answer).reduce(stock == null || stock.isNothing() ? Verdict.YES : Verdict.NO, Verdict::and);
        if (output.isJson()) {
            Map<String, Object> document = Output.document("preflight", answer);
            if (stock != null)
                document.put("unknownToStock", Map.of("level", stock.level(), "settings", stock.document(), "electableSets", stock.electable()));
            document.put("topics", changes.stream().map(PreflightVerb::document).toList());
            output.json(document);
            return answer.exitCode();
        }
        if (stock != null)
            stockLines(stock).forEach(output::line);
        List<List<Object>> rows = new ArrayList<>();
        for (Change change : changes)
            if (change.answer != Verdict.YES)
                rows.add(List.of(change.topic.name(), change.topic.partitions().size(), change.refusing, change.worse.size(), Summary.reason(change.worse)));
        if (!rows.isEmpty())
            output.table(List.of("TOPIC", "PARTITIONS", "REFUSING-NOW", "REFUSING-MORE", "REASON"), rows);
        output.line((changes.size() - rows.size()) + " of " + changes.size() + " topic(s) would refuse no more than now");
        return answer.exitCode();
    }

    private static List<String> stockLines(StockSettings stock) {
        if (stock.isNothing())
            return List.of("nothing is set that stock Kafka does not know");
        List<String> lines = new ArrayList<>(stock.lines());
        lines.add("stock Kafka does not know these. Stop clients that send acks=min.insync.replicas, then remove them with --remove");
        return lines;
    }

    private static Change change(ClusterView view, ClusterView planned, Topic topic) {
        Verdict answer = Verdict.YES;
        long refusing = 0;
        List<Prediction> worse = new ArrayList<>();
        Topic then = planned.topics().get(topic.name());
        for (int i = 0; i < topic.partitions().size(); i++) {
            Partition partition = topic.partitions().get(i);
            Prediction before = Predictor.now(view, topic, partition);
            Prediction after = Predictor.now(planned, then, then.partitions().get(i));
            if (before.writable() != Verdict.YES)
                refusing++;
            else if (after.writable() != Verdict.YES)
                worse.add(after);
            answer = before.writable() == Verdict.NO ? answer : answer.and(after.writable());
        }
        return new Change(topic, answer, refusing, worse);
    }

    private static Map<String, Object> document(Change change) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("topic", change.topic.name());
        found.put("partitions", change.topic.partitions().size());
        found.put("answer", change.answer);
        found.put("refusingNow", change.refusing);
        found.put("refusingMore", change.worse.stream()
            .map(p -> Map.of("partition", p.partition(), "refusal", String.valueOf(p.refusal()), "reason", p.reason())).toList());
        return found;
    }
}
