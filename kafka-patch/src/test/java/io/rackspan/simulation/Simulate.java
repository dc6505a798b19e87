// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;

/**
 * Plays many histories; `gradle simulate`. Arguments: the first seed, the last seed, perils as names with commas (those that are survived
 * if it is empty), and rules to knock out in the same way: `each` for all of them one after another, `each:A,B` for some.
 */
public final class Simulate {

    static final int LENGTH = 250;
    private static final long PROGRESS_MS = 10_000;

    private Simulate() { }

    public static void main(String[] args) {
        Quiet.logs();
        long from = Long.parseLong(args[0]);
        long to = Long.parseLong(args[1]);
        Set<Peril> perils = args.length > 2 && !args[2].isEmpty() ? named(Peril.class, args[2]) : Peril.SURVIVED;
        boolean found = true;
        if (args.length > 3 && args[3].startsWith("each")) {
            Set<Rule> rules = args[3].equals("each") ? EnumSet.allOf(Rule.class) : named(Rule.class, args[3].substring("each:".length()));
            for (Rule rule : rules)
                found &= isFound(rule, from, to, perils) || Rule.RARE.contains(rule);
        } else
            found = play(from, to, perils, args.length > 3 && !args[3].isEmpty() ? named(Rule.class, args[3]) : Set.of());
        if (!found)
            System.exit(1);
    }

    private static <E extends Enum<E>> Set<E> named(Class<E> type, String names) {
        Set<E> found = EnumSet.noneOf(type);
        for (String name : names.split(",")) {
            E one = Arrays.stream(type.getEnumConstants()).filter(value -> value.name().equals(name)).findAny().orElse(null);
            if (one == null) {
                System.out.println("There is no " + type.getSimpleName() + " " + name + ", but " + EnumSet.allOf(type));
                System.exit(2);
            }
            found.add(one);
        }
        return found;
    }

    /** What a rule that is knocked out led to: the number of histories until it did. */
    record Finding(long histories, Violation violation) { }

    /** Prints the line of the table of rules. */
    private static boolean isFound(Rule rule, long from, long to, Set<Peril> perils) {
        Finding finding = find(rule, from, to, perils);
        System.out.println("| " + rule + " | " + rule.text + " | " +
            (finding == null ? "not in " + (to - from + 1) + " | |" : finding.histories + " | " + finding.violation.kind + " |"));
        return finding != null;
    }

    /** The first history that violates something without this rule, and nothing with it; null if there is none. */
    static Finding find(Rule rule, long from, long to, Set<Peril> perils) {
        for (long seed = from; seed <= to; seed++) {
            History history = History.random(seed, LENGTH, perils);
            Violation violation = Simulation.play(history, Set.of(rule), null).violation();
            if (violation != null && Simulation.play(history, Set.of(), null).violation() == null)
                return new Finding(seed - from + 1, violation);
        }
        return null;
    }

    private static boolean play(long from, long to, Set<Peril> perils, Set<Rule> broken) {
        long begun = System.currentTimeMillis();
        long next = begun + PROGRESS_MS;
        long promised = 0;
        long elections = 0;
        for (long seed = from; seed <= to; seed++) {
            History history = History.random(seed, LENGTH, perils);
            Simulation.Outcome outcome = Simulation.play(history, broken, null);
            promised += outcome.promised();
            elections += outcome.elections();
            if (outcome.violation() != null) {
                History shortened = Shortening.shorten(history, broken);
                System.out.println("seed " + seed + " of perils " + perils + ", shortened to " + shortened.steps().size() + " steps:");
                Simulation.story(shortened, broken).forEach(System.out::println);
                System.out.println("steps: " + shortened.text());
                return false;
            }
            if (System.currentTimeMillis() > next || seed == to) {
                next = System.currentTimeMillis() + PROGRESS_MS;
                long done = seed - from + 1;
                System.out.printf("%d histories of %d steps, %.1f a second, %.1f a second of the processor, %d records promised, %d elections%n",
                    done, LENGTH, done * 1e3 / Math.max(1, System.currentTimeMillis() - begun),
                    done * 1e9 / ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime(), promised, elections);
            }
        }
        return true;
    }
}
