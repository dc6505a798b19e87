// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.Verdict;
import io.rackspan.common.Degrade;
import io.rackspan.protocol.Ledger;
import io.rackspan.prediction.ClusterView.Partition;
import io.rackspan.prediction.ClusterView.Topic;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** ledger: the offsets that may have been acknowledged in fewer racks than promised while topics were degraded. */
final class LedgerVerb {

    private record Row(Topic topic, Partition partition, Ledger.Range range) {

        Degrade degrade() {
            return Degrade.of(range.degrade());
        }
    }

    private LedgerVerb() {
    }

    static int run(ClusterView view, Collection<Topic> topics, Output output) {
        List<Row> rows = new ArrayList<>();
        for (Topic topic : topics)
            for (Partition partition : topic.partitions())
                partition.ledger().ranges().forEach(range -> rows.add(new Row(topic, partition, range)));
        Verdict answer = Verdict.of(rows.stream().allMatch(row -> row.range.isReached()));
        if (output.isJson()) {
            Map<String, Object> document = Output.document("ledger", answer);
            document.put("ranges", rows.stream().map(LedgerVerb::document).toList());
            output.json(document);
        } else
            print(rows, output);
        return answer.exitCode();
    }

    private static Map<String, Object> document(Row row) {
        Ledger.Range range = row.range;
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("topic", row.topic.name());
        found.put("partition", row.partition.index());
        found.put("from", range.from());
        found.put("to", range.isOpen() ? null : range.to());
        found.put("promisedRacks", range.promised());
        found.put("reached", range.isReached());
        found.put("began", Instant.ofEpochMilli(range.beganMs()).toString());
        found.put("ended", range.isOpen() ? null : Instant.ofEpochMilli(range.endedMs()).toString());
        found.put("joined", range.joined());
        found.put("degrade", DegradeVerb.document(row.degrade()));
        return found;
    }

    private static void print(List<Row> rows, Output output) {
        if (rows.isEmpty()) {
            output.line("Nothing was acknowledged in fewer racks than promised while a topic was degraded.");
            return;
        }
        List<List<Object>> table = new ArrayList<>();
        for (Row row : rows) {
            Ledger.Range range = row.range;
            Degrade degrade = row.degrade();
            table.add(List.of(row.topic.name(), row.partition.index(), range.from(), range.isOpen() ? "-" : range.to(), degrade.to(), range.promised(),
                range.isReached() ? "yes" : "no", Instant.ofEpochMilli(range.beganMs()), range.isOpen() ? "-" : Instant.ofEpochMilli(range.endedMs()),
                degrade.by(), degrade.reason()));
        }
        output.table(List.of("TOPIC", "PARTITION", "FROM", "TO", "RACKS", "PROMISED", "REACHED", "BEGAN", "ENDED", "BY", "REASON"), table);
    }
}
