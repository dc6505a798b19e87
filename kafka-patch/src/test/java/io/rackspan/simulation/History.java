// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;

/** A cluster and all that happens to it, made from a seed alone: see {@link Swarm}. */
record History(Setup setup, List<Step> steps) {

    /** The steps of a text that {@link #text} made. */
    static List<Step> steps(String text) {
        List<Step> steps = new ArrayList<>();
        for (String step : text.strip().split(",\\s+")) {
            String[] parts = step.split(" ");
            steps.add(new Step(Step.Kind.valueOf(parts[0]), Integer.parseInt(parts[1]), Integer.parseInt(parts[2])));
        }
        return steps;
    }

    /** The steps as a text: of each its kind, broker and choice. */
    String text() {
        return String.join(", ", steps.stream().map(step -> step.kind() + " " + step.broker() + " " + step.choice()).toList());
    }

    static History random(long seed, int length, Set<Peril> perils) {
        Random random = new Random(seed);
        Set<Peril> chosen = Swarm.some(random, perils);
        Setup setup = Setup.random(random, chosen);
        List<Step> known = null;
        if (random.nextInt(8) == 0) {
            KnownHistory one = KnownHistory.ALL.get(random.nextInt(KnownHistory.ALL.size()));
            setup = one.setup();
            known = one.varied(random);
        }
        Swarm swarm = new Swarm(random, setup, chosen);
        List<Step> steps = new ArrayList<>(known == null ? swarm.first() : swarm.possible(known));
        while (steps.size() < length)
            steps.addAll(swarm.next());
        return new History(setup, List.copyOf(steps.subList(0, length)));
    }
}
