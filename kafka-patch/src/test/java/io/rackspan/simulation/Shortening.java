// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Takes steps out of a history that violates something, as long as it still violates the same. */
final class Shortening {

    private Shortening() { }

    static History shorten(History history, Set<Rule> broken) {
        Simulation.Outcome outcome = Simulation.play(history, broken, null);
        if (outcome.violation() == null)
            throw new IllegalArgumentException("the history violates nothing");
        Violation.Kind kind = outcome.violation().kind;
        List<Step> steps = List.copyOf(history.steps().subList(0, outcome.stepsDone() == history.steps().size() ? history.steps().size() : outcome.stepsDone() + 1));
        if (!fails(history.setup(), steps, broken, kind))
            steps = history.steps();
        int length = steps.size() / 2;
        while (length > 0) {
            int before = steps.size();
            for (int from = 0; from < steps.size();) {
                List<Step> fewer = without(steps, from, Math.min(steps.size(), from + length));
                if (fails(history.setup(), fewer, broken, kind))
                    steps = fewer;
                else
                    from += length;
            }
            if (length > 1)
                length /= 2;
            else if (steps.size() == before)
                length = 0;
        }
        return new History(history.setup(), steps);
    }

    private static boolean fails(Setup setup, List<Step> steps, Set<Rule> broken, Violation.Kind kind) {
        Violation violation = Simulation.play(new History(setup, steps), broken, null).violation();
        return violation != null && violation.kind == kind;
    }

    private static List<Step> without(List<Step> steps, int from, int to) {
        List<Step> rest = new ArrayList<>(steps.subList(0, from));
        rest.addAll(steps.subList(to, steps.size()));
        return rest;
    }
}
