// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.Loss;
import io.rackspan.prediction.Verdict;
import io.rackspan.tools.racks.PlacementAudit.Finding;
import io.rackspan.tools.racks.PlacementAudit.Share;
import io.rackspan.tools.racks.Repair.Move;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** audit: placements in too few racks, racks that decide alone, and the share of each rack. */
final class AuditVerb {

    private AuditVerb() {
    }

    /** @param repair the file for a reassignment, or null */
    static int run(ClusterView view, int minRacks, Path repair, Output output) throws IOException {
        PlacementAudit audit = new PlacementAudit(view, minRacks);
        List<Finding> findings = audit.findings();
        Map<String, Share> shares = audit.shares();
        List<Move> moves = repair == null ? List.of() : new Repair(view, minRacks).moves();
        List<Finding> left = moves.isEmpty() ? findings : new PlacementAudit(PlannedMoves.apply(view, moves), minRacks).findings();
        Verdict answer = Verdict.of(left.isEmpty());
        if (!moves.isEmpty())
            Output.write(repair, Repair.document(moves));
        if (output.isJson()) {
            Map<String, Object> document = Output.document("audit", answer);
            document.put("minRacks", minRacks);
            document.put("cluster", Summary.ofCluster(view));
            document.put("shares", shares);
            document.put("findings", findings.stream().map(AuditVerb::document).toList());
            if (repair != null)
                document.put("repair", repair(moves, left));
            output.json(document);
            return answer.exitCode();
        }
        List<List<Object>> rows = new ArrayList<>();
        shares.forEach((rack, share) -> rows.add(List.of(Loss.words(Set.of(rack)), share.brokers(), share.replicas(), share.leaders(), share.preferredLeaders())));
        output.table(List.of("RACK", "BROKERS", "REPLICAS", "LEADERS", "PREFERRED-LEADERS"), rows);
        output.line("");
        if (!findings.isEmpty())
            output.table(List.of("FINDING", "PARTITION", "REPLICAS", "WHY"), findings.stream().<List<Object>>map(finding -> List.of(finding.kind(),
                finding.topic() + "-" + finding.partition(), finding.replicas(), finding.text())).toList());
        output.line(findings.size() + " finding(s); partitions should be in at least " + minRacks + " rack(s)");
        if (repair != null)
            output.line(moves.isEmpty() ? "no move of replicas would end one, so that " + repair + " was not written" : repair + " moves " + copies(moves) +
                " replica(s) of " + moves.size() + " partition(s) and leaves " + left.size() + " finding(s). Next: kafka-reassign-partitions.sh --execute " +
                "--reassignment-json-file " + repair);
        return answer.exitCode();
    }

    private static long copies(List<Move> moves) {
        return moves.stream().mapToLong(Move::copies).sum();
    }

    private static Map<String, Object> repair(List<Move> moves, List<Finding> left) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("partitions", moves.size());
        found.put("copies", copies(moves));
        found.put("left", left.stream().map(AuditVerb::document).toList());
        return found;
    }

    private static Map<String, Object> document(Finding finding) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("kind", finding.kind());
        found.put("topic", finding.topic());
        found.put("partition", finding.partition());
        found.put("replicas", finding.replicas());
        found.put("text", finding.text());
        return found;
    }
}
