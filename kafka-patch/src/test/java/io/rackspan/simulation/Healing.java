// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import java.util.List;

/** All that is broken is repaired, until every replica has everything. */
final class Healing {

    private static final int ROUNDS = 40;
    private static final int MESSAGES = 100;

    private Healing() { }

    /** Repairs, and waits for no longer than a healthy cluster takes. Returns true if the cluster is complete. */
    static boolean heal(World world) {
        for (Broker broker : world.brokers)
            if (broker.disk.failed && broker.isRunning())
                broker.stop();
        for (int round = 0; round < ROUNDS; round++) {
            for (Broker broker : world.brokers)
                if (!broker.isRunning() && !broker.start()) {
                    broker.stock = false;
                    broker.rack = broker.place;
                    broker.start();
                }
            for (Broker broker : world.brokers)
                broker.catchUp(world.metadata.end());
            for (Broker broker : world.brokers) {
                broker.catchUp(world.metadata.end());
                if (broker.isRunning())
                    broker.heartbeat();
            }
            for (int message = 0; message < MESSAGES && world.network.deliver(0) != null; message++)
                world.guarantee.check();
            for (Broker broker : world.brokers) {
                broker.fetcher.fetch(1);
                broker.fetcher.fetch(1);
                world.guarantee.check();
            }
            if (world.isComplete()) {
                world.noteComplete();
                return true;
            }
            world.time.sleep(500);
        }
        return false;
    }

    /** Brings back the racks and settings of the beginning, and checks that the cluster takes and answers writes. */
    static void checkWritable(World world) {
        // Cancelled before that it might leave replicas in sync that are lost
        heal(world);
        world.controller.reassign(List.of());
        // A change of a minimum clears the eligible replicas where the controller takes a crashed leader for one
        heal(world);
        for (Broker broker : world.brokers)
            if (!world.setup.rackOf(broker.id).equals(broker.rack)) {
                if (broker.isRunning())
                    broker.stop();
                broker.rack = world.setup.rackOf(broker.id);
                broker.place = broker.rack;
            }
        heal(world);
        if (!world.set(world.setup.minReplicas(), world.controller.level() == 0 ? 0 : world.setup.minRacks()))
            throw new Violation(Violation.Kind.FAILED, "the minimums of the beginning are refused");
        moveTo(world, world.setup.replicas(), "after all has healed");
        write(world, "after all has healed");
        for (Broker broker : world.brokers)
            if (broker.leads())
                broker.partition().maybeShrinkIsr();
        heal(world);
        world.guarantee.checkSettledLedger();
        Draining.check(world);
        for (Broker broker : world.brokers)
            if (!broker.writes.waiting().isEmpty())
                throw new Violation(Violation.Kind.NOT_ANSWERED, "after all has healed: " + broker.writes.waiting());
    }

    /** Reassigns the partition, and requires that it comes to an end. */
    static void moveTo(World world, List<Integer> replicas, String when) {
        world.controller.reassign(replicas);
        if (!heal(world))
            throw new Violation(Violation.Kind.NOT_WRITABLE, when + ": " + world.state());
    }

    /** Writes a record, and requires that it is acknowledged. */
    static void write(World world, String when) {
        Broker leader = world.broker(world.controller.partition().leader);
        int record = world.nextRecord();
        String answer = leader.writes.produce(record, Writes.ALL);
        heal(world);
        if (!world.guarantee.isAcknowledged(record))
            throw new Violation(Violation.Kind.NOT_WRITABLE, "record " + record + " was not acknowledged " + when + ": " + answer + "; " + world.state());
    }
}
