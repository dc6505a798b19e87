// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import io.rackspan.protocol.Electable;

/** Electable sets of a healthy cluster: a write with acks=min.insync.replicas waits for the members of one only, which is emptied when it is idle. */
final class Draining {

    /** As long as ElectableGate keeps a set that nobody waits for. */
    private static final long IDLE_MS = 10_000;
    private static final long ROUND_MS = 2_000;
    private static final long RETRY_MS = 50;

    private Draining() { }

    /** Plays it on a cluster that is complete. */
    static void check(World world) {
        if (world.controller.level() < 2 || world.settings.minReplicas() == 1 && world.settings.minRacks() == 1)
            return;
        world.brokers.forEach(broker -> broker.writes.resume());
        writeToMembers(world);
        Healing.heal(world);
        idle(world);
    }

    /** Only the members of the set fetch, and the write is acknowledged. */
    private static void writeToMembers(World world) {
        // A proposal that was refused is made again after a while
        world.time.sleep(RETRY_MS);
        Broker leader = world.broker(world.controller.partition().leader);
        int record = world.nextRecord();
        String answer = leader.writes.produce(record, Writes.QUORUM);
        world.network.deliverPrompt();
        Electable set = world.controller.partition().electable;
        for (int round = 0; round < 2; round++)
            set.members().forEach(id -> world.broker(id).fetcher.fetch(1));
        world.say(() -> "record " + record + " is fetched by " + set + " only: " + answer);
        world.guarantee.check();
        if (!world.guarantee.isAcknowledged(record))
            throw new Violation(Violation.Kind.NOT_WRITABLE, "record " + record + " was not acknowledged by " + set + ": " + answer + "; " + world.state());
    }

    private static void idle(World world) {
        for (long passed = 0; passed <= IDLE_MS + ROUND_MS; passed += ROUND_MS) {
            world.time.sleep(ROUND_MS);
            for (Broker broker : world.brokers)
                broker.fetcher.fetch(1);
            for (Broker broker : world.brokers)
                if (broker.leads())
                    broker.partition().maybeShrinkIsr();
            world.network.deliverPrompt();
            world.publishAll();
            world.guarantee.check();
        }
        if (!world.controller.partition().electable.isEmpty())
            throw new Violation(Violation.Kind.NOT_ELECTABLE, "after all has healed and " + IDLE_MS + " ms without writes the set is kept: " + world.state());
    }
}
