// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.List;
import java.util.Set;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

/** For each rule that few random histories miss, a history that violates something without it, and nothing with it. */
@ExtendWith(Quiet.class)
final class RuleHistoriesTest {

    static List<KnownHistory> all() {
        return KnownHistory.ALL;
    }

    @ParameterizedTest
    @MethodSource("all")
    void theRuleIsNeeded(KnownHistory one) {
        History history = one.history();
        Violation violation = Simulation.play(history, Set.of(one.rule()), null).violation();
        assertNotNull(violation, () -> String.join("\n", Simulation.story(history, Set.of(one.rule()))));
        assertEquals(one.kind(), violation.kind, () -> String.join("\n", Simulation.story(history, Set.of(one.rule()))));
        assertNull(Simulation.play(history, Set.of(), null).violation(), () -> String.join("\n", Simulation.story(history, Set.of())));
    }
}
