// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.Loss;
import io.rackspan.prediction.Predictor;
import io.rackspan.prediction.Prediction;
import io.rackspan.prediction.Quorum;
import io.rackspan.prediction.Verdict;
import io.rackspan.prediction.ClusterView.Topic;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** what-if: what is writable, readable, electable and safe when racks or brokers are lost. */
final class WhatIfVerb {

    private record Predicted(Topic topic, List<Prediction> partitions) { }

    private record Scenario(Loss loss, Verdict quorum, List<Predicted> topics) {

        Verdict answer() {
            return topics.stream().flatMap(topic -> topic.partitions.stream()).map(Prediction::fine).reduce(quorum, Verdict::and);
        }
    }

    private WhatIfVerb() {
    }

    static int run(ClusterView view, Collection<Topic> topics, List<Loss> losses, Output output) {
        boolean brief = losses.size() > 1;
        Verdict answer = Verdict.YES;
        List<Object> documents = new ArrayList<>();
        for (Loss loss : losses) { // One after the other: each has a prediction for every partition
            Scenario scenario = scenario(view, topics, loss);
            answer = answer.and(scenario.answer());
            if (output.isJson())
                documents.add(document(view, scenario, brief));
            else
                print(view, scenario, brief, output);
        }
        if (output.isJson()) {
            Map<String, Object> document = Output.document("what-if", answer);
            document.put("cluster", Summary.ofCluster(view));
            document.put("scenarios", documents);
            output.json(document);
        }
        return answer.exitCode();
    }

    private static Scenario scenario(ClusterView view, Collection<Topic> topics, Loss loss) {
        Verdict quorum = Quorum.after(view, loss);
        return new Scenario(loss, quorum, topics.stream().map(topic -> new Predicted(topic,
            topic.partitions().stream().map(partition -> Predictor.predict(view, topic, partition, loss, quorum)).toList())).toList());
    }

    /** With `brief` only partitions that suffer, as for many scenarios. */
    private static Map<String, Object> document(ClusterView view, Scenario scenario, boolean brief) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("lost", Map.of("racks", scenario.loss.racks(), "brokers", scenario.loss.brokers(), "unclean", scenario.loss.unclean()));
        found.put("answer", scenario.answer());
        found.put("quorum", scenario.quorum);
        List<Object> topics = new ArrayList<>();
        List<Object> partitions = new ArrayList<>();
        for (Predicted predicted : scenario.topics) {
            topics.add(Summary.ofTopic(predicted.topic, predicted.partitions));
            predicted.partitions.stream().filter(prediction -> !brief || prediction.fine() != Verdict.YES)
                .forEach(prediction -> partitions.add(Summary.ofPartition(view, prediction)));
        }
        found.put("topics", topics);
        found.put("partitions", partitions);
        return found;
    }

    /** With `brief` only topics that suffer, as for many scenarios. */
    private static void print(ClusterView view, Scenario scenario, boolean brief, Output output) {
        output.line("without " + scenario.loss.words() + (scenario.loss.unclean() ? ", and what they had not flushed" : "") + ": quorum of controllers " +
            scenario.quorum.toString() + (scenario.quorum == Verdict.UNKNOWN ? " (racks of " + Quorum.unknownRacks(view) + " are not known: see --controller-racks)" : ""));
        List<List<Object>> rows = new ArrayList<>();
        int fine = 0;
        for (Predicted predicted : scenario.topics) {
            Prediction worst = Summary.worst(predicted.partitions);
            if (worst.fine() == Verdict.YES)
                fine++;
            if (!brief || worst.fine() != Verdict.YES)
                rows.add(List.of(predicted.topic.name(), predicted.partitions.size(), worst.writable().toString(), worst.writableFew().toString(), worst.writableOne().toString(),
                    worst.readable().toString(), worst.electable().toString(), worst.safe().toString(), Summary.reason(predicted.partitions)));
        }
        if (!rows.isEmpty())
            output.table(List.of("TOPIC", "PARTITIONS", "ACKS=ALL", "ACKS=-2", "ACKS=1", "READABLE", "ELECTABLE", "SAFE", "REASON"), rows);
        output.line(fine + " of " + scenario.topics.size() + " topic(s) are writable with acks=all, readable, electable and safe");
        output.line("");
    }
}
