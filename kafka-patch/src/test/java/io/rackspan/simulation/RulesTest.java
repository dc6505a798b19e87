// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

/** The simulation finds it when a rule is knocked out that few histories miss. All rules are in the table of docs/results/simulation.md. */
@ExtendWith(Quiet.class)
final class RulesTest {

    private static final int HISTORIES = 300;

    @ParameterizedTest
    @EnumSource(names = {"APPEND_GATE", "AFTER_APPEND_GATE", "HIGH_WATERMARK_SPAN", "HIGH_WATERMARK_NUMBER", "NEWEST_RACKS", "CHANGES_WAKE", "TRUNCATION",
        "QUORUM_SPAN", "QUORUM_NUMBER", "ELIGIBLE_SPAN", "ELIGIBLE_NUMBER", "ELIGIBLE_CLEAN", "ELIGIBLE_KEPT", "ELECTED_ALONE", "LOWER_REFUSED", "FENCED_LEAVE",
        "STOCK_REFUSED", "STATIC_IGNORED", "LEDGER_FIRST", "QUORUM_TERM",
        "QUORUM_MEMBERS", "ELECTED_MEMBERS", "UNCLEAN_MEMBERS", "SETS_LOWER_REFUSED",
        "HIGH_WATERMARK_MEMBERS", "PLANNED_MEMBERS"})
    void aRuleThatIsKnockedOutIsMissed(Rule rule) {
        Simulate.Finding finding = Simulate.find(rule, 0, HISTORIES - 1, Peril.SURVIVED);
        assertNotNull(finding, "nothing is violated in " + HISTORIES + " histories without the rule that " + rule.text);
        System.out.println(rule + ": " + finding.histories() + " histories, " + finding.violation().getMessage());
        assertNotEquals(Violation.Kind.FAILED, finding.violation().kind, finding.violation().getMessage());
    }
}
