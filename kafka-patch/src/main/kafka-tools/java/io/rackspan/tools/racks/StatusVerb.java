// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.Loss;
import io.rackspan.prediction.Predictor;
import io.rackspan.prediction.Prediction;
import io.rackspan.prediction.Quorum;
import io.rackspan.prediction.RackFailures;
import io.rackspan.prediction.Verdict;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Settings;
import io.rackspan.prediction.ClusterView.Topic;
import io.rackspan.prediction.RackFailures.Losses;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** status: which topics refuse and why, which are one rack from it, and how many racks may be lost. */
final class StatusVerb {

    private record Row(Partition partition, Prediction now, RackFailures failures) {

        boolean isAtEdge() {
            return failures.availability() == 0;
        }

        boolean hasSet() {
            return !partition.electable().isEmpty();
        }

        boolean mayLackRecords() {
            return !partition.electable().unclean().isEmpty();
        }
    }

    private record Rows(Topic topic, List<Row> rows) {

        RackFailures failures() {
            return rows.stream().map(Row::failures).reduce(RackFailures::and).orElseThrow();
        }

        List<Prediction> now() {
            return rows.stream().map(Row::now).toList();
        }

        long count(Predicate<Row> which) {
            return rows.stream().filter(which).count();
        }
    }

    private StatusVerb() {
    }

    static int run(ClusterView view, Collection<Topic> topics, Output output) {
        Losses losses = new Losses(view);
        List<Rows> found = topics.stream().map(topic -> rows(view, losses, topic)).toList();
        Verdict answer = found.stream().flatMap(rows -> rows.now().stream()).map(Prediction::fine).reduce(Quorum.after(view, Loss.NONE), Verdict::and);
        int quorum = RackFailures.ofQuorum(view);
        RackFailures all = found.stream().map(Rows::failures).reduce(new RackFailures(quorum, view.racks().size()), RackFailures::and);
        if (output.isJson())
            output.json(document(view, found, answer, all, quorum));
        else
            print(view, found, all, quorum, output);
        return answer.exitCode();
    }

    private static Rows rows(ClusterView view, Losses losses, Topic topic) {
        return new Rows(topic, topic.partitions().stream()
            .map(partition -> new Row(partition, Predictor.now(view, topic, partition), RackFailures.of(losses, topic, partition))).toList());
    }

    private static Map<String, Object> document(ClusterView view, List<Rows> topics, Verdict answer, RackFailures all, int quorum) {
        Map<String, Object> document = Output.document("status", answer);
        Map<String, Object> cluster = Summary.ofCluster(view);
        cluster.put("maxRackFailures", Summary.ofFailures(all.availability(), all.data()));
        cluster.put("maxRackFailuresOfControllers", quorum);
        document.put("cluster", cluster);
        List<Object> described = new ArrayList<>();
        List<Object> partitions = new ArrayList<>();
        for (Rows own : topics) {
            Settings settings = view.settings(own.topic);
            Map<String, Object> found = Summary.ofTopic(own.topic, own.now());
            found.put("minInsyncReplicas", settings.minReplicas());
            found.put("minInsyncRacks", settings.minRacks());
            found.put("degrade", DegradeVerb.document(DegradeVerb.of(own.topic)));
            found.put("oneRackFromRefusing", own.count(Row::isAtEdge));
            found.put("withElectableSet", own.count(Row::hasSet));
            found.put("withoutElectableReplica", own.count(row -> row.partition.lacksElectable()));
            found.put("mayLackRecords", own.count(Row::mayLackRecords));
            found.put("maxRackFailures", Summary.ofFailures(own.failures().availability(), own.failures().data()));
            described.add(found);
            own.rows.forEach(row -> partitions.add(partition(view, row)));
        }
        document.put("topics", described);
        document.put("partitions", partitions);
        return document;
    }

    private static Map<String, Object> partition(ClusterView view, Row row) {
        Map<String, Object> found = new LinkedHashMap<>(Summary.ofPartition(view, row.now));
        found.put("replicas", row.partition.replicas());
        found.put("elr", row.partition.elr());
        found.put("electableSet", row.partition.electable().members());
        found.put("mayLackRecords", row.partition.electable().unclean());
        found.put("maxRackFailures", Summary.ofFailures(row.failures.availability(), row.failures.data()));
        return found;
    }

    private static void print(ClusterView view, List<Rows> topics, RackFailures all, int quorum, Output output) {
        output.line("rackspan.version " + view.level() + ", eligible leader replicas " + (view.elr() ? "on" : "off") + ", " + view.brokers().size() +
            " brokers in racks " + Loss.words(view.racks()));
        output.line("racks that may be lost: " + words(all.availability()) + " without losing availability, " + all.data() + " without losing data" +
            (Quorum.unknownRacks(view).isEmpty() ? "" : " (racks of controllers " + Quorum.unknownRacks(view) + " are not known: see --controller-racks)"));
        output.line("the controllers' quorum bears " + quorum);
        output.line("");
        List<List<Object>> table = new ArrayList<>();
        for (Rows own : topics) {
            Settings settings = view.settings(own.topic);
            long refusing = own.count(row -> row.now.writable() != Verdict.YES);
            int racks = own.rows.stream().mapToInt(row -> view.span(row.partition.isr())).min().orElse(0);
            long eligible = own.count(row -> !row.partition.elr().isEmpty());
            table.add(List.of(own.topic.name(), own.rows.size(), settings.minReplicas(), settings.minRacks(), racks, refusing,
                own.count(Row::isAtEdge), eligible, own.count(Row::hasSet), own.failures().availability() < 0 ? "-" : own.failures().availability(), own.failures().data(),
                Summary.reason(own.now())));
        }
        output.table(List.of("TOPIC", "PARTITIONS", "MIN-REPLICAS", "MIN-RACKS", "RACKS-IN-SYNC", "REFUSING", "ONE-RACK-FROM-IT", "WITH-ELR", "WITH-SET",
            "MAX-RACKS-AVAILABLE", "MAX-RACKS-DATA", "REASON"), table);
        List<Topic> degraded = topics.stream().map(Rows::topic).filter(topic -> DegradeVerb.of(topic) != null).toList();
        if (!degraded.isEmpty())
            output.line("");
        degraded.forEach(topic -> output.line("degraded: " + DegradeVerb.line(view, topic)));
        List<String> sets = topics.stream().filter(own -> own.count(row -> row.partition.lacksElectable() || row.mayLackRecords()) > 0).map(StatusVerb::sets).toList();
        if (!sets.isEmpty())
            output.line("");
        sets.forEach(output::line);
    }

    private static String sets(Rows own) {
        return "electable sets: " + own.topic.name() + ": of " + own.count(row -> row.partition.lacksElectable()) + " no member may lead now, of " +
            own.count(Row::mayLackRecords) + " members may lack records; kafka-topics.sh --describe names them";
    }

    private static String words(int availability) {
        return availability < 0 ? "none (something is not available now)" : String.valueOf(availability);
    }
}
