// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Plays a history, step by step in one thread, and checks what the cluster promises after each. */
final class Simulation {

    /** What came of a history: the number of promised records, of elections, and what was violated, or null. */
    record Outcome(int promised, int elections, int stepsDone, Violation violation) { }

    private Simulation() { }

    static Outcome play(History history, Set<Rule> broken, List<String> story) {
        World world = new World(history.setup(), broken, story);
        Actions actions = new Actions(world);
        int done = 0;
        try {
            for (Step step : history.steps()) {
                String effect = actions.act(step);
                done++;
                if (effect != null)
                    world.say(() -> effect + "\n      " + world.state());
                world.guarantee.check();
            }
            world.say(() -> "all heals");
            Healing.checkWritable(world);
            Spreading.check(world);
            world.guarantee.check();
        } catch (Violation violation) {
            return outcome(world, done, violation);
        } catch (RuntimeException | AssertionError failure) {
            return outcome(world, done, new Violation(Violation.Kind.FAILED, failure.toString(), failure));
        }
        return outcome(world, done, null);
    }

    private static Outcome outcome(World world, int done, Violation violation) {
        return new Outcome(world.guarantee.promised(), world.controller.partition().leaderEpoch, done, violation);
    }

    /** What happens in a history, in words. */
    static List<String> story(History history, Set<Rule> broken) {
        List<String> story = new ArrayList<>();
        story.add(history.setup().toString());
        Violation violation = play(history, broken, story).violation();
        story.add(violation == null ? "nothing is violated" : violation.getMessage());
        return story;
    }
}
