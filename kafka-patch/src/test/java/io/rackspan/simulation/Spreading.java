// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import java.util.ArrayList;
import java.util.List;

/**
 * The repair of a placement: replicas that are all in one rack are spread over all brokers. Until the added replicas are in sync the partition
 * serves as it did before, for its leader and for the controller.
 */
final class Spreading {

    private final World world;
    /** The brokers of one rack. The first one leads. */
    private final List<Integer> narrow;

    private Spreading(World world, List<Integer> narrow) {
        this.world = world;
        this.narrow = narrow;
    }

    /** Plays it on a cluster that is complete, if the level puts racks in force and more than one rack is there. */
    static void check(World world) {
        Broker leader = world.broker(world.controller.partition().leader);
        List<Integer> narrow = new ArrayList<>(List.of(leader.id));
        for (Broker broker : world.brokers)
            if (broker != leader && broker.place.equals(leader.place))
                narrow.add(broker.id);
        if (world.controller.level() > 0 && narrow.size() < world.brokers.size())
            new Spreading(world, narrow).play();
    }

    private void play() {
        if (!world.set(1, 2))
            throw new Violation(Violation.Kind.FAILED, "min.insync.racks=2 is refused");
        moveTo(narrow, "the replicas are moved into one rack");
        Broker leader = world.broker(world.controller.partition().leader);
        List<Integer> all = new ArrayList<>(narrow);
        for (Broker broker : world.brokers)
            if (!narrow.contains(broker.id))
                all.add(broker.id);
        world.controller.reassign(all);
        world.publishAll();
        world.say(() -> "they are spread over " + all);
        checkReadable(leader, narrow);
        if (narrow.size() > 1)
            checkEligible(leader, world.broker(narrow.get(narrow.indexOf(leader.id) == 0 ? 1 : 0)));
        moveTo(all, "the added replicas are in sync");
        Healing.write(world, "after the replicas were spread");
    }

    private void moveTo(List<Integer> replicas, String what) {
        Healing.moveTo(world, replicas, what);
        world.say(() -> what + "\n      " + world.state());
    }

    /** What the old replicas have that are in sync can be read. */
    private void checkReadable(Broker leader, List<Integer> inSync) {
        int record = world.nextRecord();
        String answer = leader.writes.produce(record, 1);
        for (int round = 0; round < 2; round++) {
            // A member of the electable set that has left holds the high watermark until the leader has proposed another set
            world.network.deliverPrompt();
            inSync.forEach(id -> world.broker(id).fetcher.fetch(1));
        }
        world.guarantee.check();
        MemoryLog log = leader.partition().memory();
        if (log.highWatermark() < log.logEndOffset())
            throw new Violation(Violation.Kind.NOT_READABLE, "record " + record + " while replicas are added: " + answer + "; " + world.state());
    }

    /** A replica that leaves is not eligible, since the high watermark moves without it. */
    private void checkEligible(Broker leader, Broker other) {
        world.controller.expireSession(other.id);
        world.publishAll();
        checkReadable(leader, narrow.stream().filter(id -> id != other.id).toList());
        world.guarantee.consume(leader);
        other.heartbeat();
        world.controller.expireSession(leader.id);
        world.publishAll();
        world.say(() -> "the session of " + leader.id + " expires\n      " + world.state());
        world.guarantee.check();
    }
}
