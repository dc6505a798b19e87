// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import io.rackspan.simulation.Step.Kind;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * Chooses the steps of one history. Each history has some of the perils only, a frequency of its own for each kind of step, brokers that are slow
 * to fetch or to read metadata, and one broker that more happens to than to others. What is rare if all is equally likely, as that
 * something is late for long, is common in some history then (Groce et al., Swarm Testing, 2012). Some steps come as a
 * {@link Scene} or a {@link KnownHistory}.
 */
final class Swarm {

    private static final int[] FREQUENCY = {1, 4, 4, 12};

    private final Random random;
    private final Setup setup;
    private final int brokers;
    private final Set<Peril> perils;
    private final List<Kind> kinds = new ArrayList<>();
    private final Set<Integer> slowFetchers = new HashSet<>();
    private final Set<Integer> slowReaders = new HashSet<>();
    private final int favourite;
    private final int plainSteps;
    /** At level 2, what is written with acks=all is written with acks=min.insync.replicas. */
    private final boolean writesByQuorum;

    Swarm(Random random, Setup setup, Set<Peril> perils) {
        this.random = random;
        this.setup = setup;
        this.brokers = setup.brokers();
        this.perils = perils;
        for (Kind kind : Kind.values()) {
            int weight = kind.weight * FREQUENCY[random.nextInt(FREQUENCY.length)];
            if (kind.peril == null || perils.contains(kind.peril))
                for (int i = 0; i < weight; i++)
                    kinds.add(kind);
        }
        for (int id = 1; id <= brokers; id++) {
            if (random.nextInt(5) == 0)
                slowFetchers.add(id);
            if (random.nextInt(4) == 0)
                slowReaders.add(id);
        }
        writesByQuorum = setup.level() == 2 && random.nextInt(3) > 0;
        favourite = 1 + random.nextInt(brokers);
        plainSteps = new int[] {4, 8, 25, 1000}[random.nextInt(4)];
    }

    /** All of these perils, or about two thirds of them. */
    static Set<Peril> some(Random random, Set<Peril> perils) {
        Set<Peril> chosen = EnumSet.noneOf(Peril.class);
        boolean all = random.nextInt(4) == 0;
        for (Peril peril : perils)
            if (random.nextInt(3) > 0 || all)
                chosen.add(peril);
        return chosen;
    }

    /** The first steps: none, or those of a known history. */
    List<Step> first() {
        return random.nextBoolean() ? List.of() : possible(KnownHistory.variant(random, setup));
    }

    List<Step> possible(List<Step> steps) {
        return steps.stream().filter(step -> step.kind().peril == null || perils.contains(step.kind().peril)).map(this::written).toList();
    }

    /** The next step, or those of a scene or a known history. */
    List<Step> next() {
        if (random.nextInt(plainSteps) > 0)
            return List.of(written(step(kinds.get(random.nextInt(kinds.size())))));
        return possible(random.nextInt(8) == 0 ? KnownHistory.variant(random, setup) : Scene.random(random, setup, random.nextInt(3) > 0 ? favourite : broker()));
    }

    private Step written(Step step) {
        return writesByQuorum && step.kind() == Kind.PRODUCE ? new Step(Kind.PRODUCE_QUORUM, step.broker(), step.choice()) : step;
    }

    private int broker() {
        return 1 + random.nextInt(brokers);
    }

    private Step step(Kind kind) {
        int broker = broker();
        Set<Integer> slow = switch (kind) {
            case FETCH, SEND_FETCH -> slowFetchers;
            case METADATA -> slowReaders;
            default -> Set.of();
        };
        if (slow.contains(broker) && random.nextInt(10) > 0)
            broker = broker();
        return new Step(kind, broker, random.nextInt(1 << 20));
    }
}
