// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import io.rackspan.simulation.Step.Kind;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Steps that belong together, around one broker. */
enum Scene {

    /** The sessions of all others expire: the broker leads if the controller lets it. */
    TAKES_OVER {
        @Override
        void add(Steps steps) {
            if (steps.maybe(3))
                steps.add(Kind.DELIVER);
            steps.add(Kind.HEARTBEAT);
            steps.others(Kind.FENCE);
            steps.add(Kind.METADATA);
        }
    },
    /** The broker falls behind while others replicate, and its leader removes it from the ISR. */
    LAGS {
        @Override
        void add(Steps steps) {
            steps.time();
            steps.add(Kind.PRODUCE);
            steps.othersReplicate();
            steps.time();
            steps.add(Kind.CHECK_ISR);
            steps.add(Kind.DELIVER_PROMPT);
        }
    },
    /** The broker catches up, and its leader proposes to add it; the leader may repeat the request. */
    CATCHES_UP {
        @Override
        void add(Steps steps) {
            steps.add(Kind.HEARTBEAT);
            if (steps.maybe(2))
                steps.others(Kind.METADATA);
            steps.add(Kind.METADATA);
            steps.add(steps.maybe(4) ? Kind.SEND_FETCH : Kind.FETCH);
            steps.add(Kind.FETCH);
            if (steps.maybe(4))
                steps.add(Kind.LOSE);
            if (steps.maybe(2))
                steps.add(Kind.DELIVER_PROMPT);
            else if (steps.maybe(2))
                steps.add(Kind.DELIVER);
        }
    },
    /** The broker leaves the ISR and returns, while nobody reads metadata. */
    LEAVES_AND_RETURNS {
        @Override
        void add(Steps steps) {
            LAGS.add(steps);
            steps.replicates();
            steps.add(Kind.DELIVER_PROMPT);
        }
    },
    /** A write is replicated to all but the broker, and read; others may have read one more batch of metadata, and the broker may take over. */
    MISSES_A_WRITE {
        @Override
        void add(Steps steps) {
            if (steps.maybe(6))
                steps.add(steps.maybe(2) ? Kind.MIN_REPLICAS : Kind.MIN_RACKS);
            if (steps.maybe(3)) {
                steps.time();
                steps.time();
            }
            if (steps.maybe(3))
                steps.othersReadOneBatch();
            steps.add(steps.maybe(2) ? Kind.PRODUCE : Kind.PRODUCE_ONE);
            steps.othersReplicate();
            steps.add(Kind.CONSUME);
            if (steps.maybe(2))
                TAKES_OVER.add(steps);
        }
    },
    /** The broker ends in some way and starts. */
    RESTARTS {
        @Override
        void add(Steps steps) {
            steps.add(new Kind[] {Kind.STOP, Kind.KILL, Kind.POWER_CUT, Kind.POWER_CUT, Kind.RELABEL, Kind.UNLABEL}[steps.random.nextInt(6)]);
            steps.add(Kind.START);
            if (steps.maybe(2))
                steps.others(Kind.METADATA);
            steps.add(Kind.HEARTBEAT);
        }
    },
    /** The broker is carried to another rack, while others serve requests in the midst of the metadata update or after it; it may take over. */
    IS_CARRIED {
        @Override
        void add(Steps steps) {
            steps.add(Kind.PRODUCE_ONE);
            steps.replicates();
            steps.add(Kind.RELABEL);
            steps.others(steps.maybe(2) ? Kind.HALF_METADATA : Kind.METADATA);
            steps.add(Kind.PRODUCE_ONE);
            if (steps.maybe(2))
                steps.othersReplicate();
            steps.add(Kind.CONSUME);
            if (steps.maybe(2))
                TAKES_OVER.add(steps);
        }
    },
    /** All other racks are cut off from the controller; those in the broker's replicate, and may lose their power. */
    ITS_RACK_REMAINS {
        @Override
        void add(Steps steps) {
            steps.rack(Kind.FENCE, false);
            steps.rack(Kind.METADATA, true);
            steps.add(steps.maybe(2) ? Kind.PRODUCE : Kind.PRODUCE_ONE);
            steps.rack(Kind.FETCH, true);
            steps.rack(Kind.FETCH, true);
            steps.add(Kind.CONSUME);
            if (steps.maybe(2))
                steps.rack(Kind.HEARTBEAT, false);
            if (steps.maybe(2))
                steps.add(Kind.RACK_POWER_CUT);
        }
    },
    /** The broker restarts without a rack, then racks are required. */
    HAS_NO_RACK {
        @Override
        void add(Steps steps) {
            steps.add(Kind.UNLABEL);
            steps.add(Kind.CALM);
            if (steps.maybe(2))
                steps.add(Kind.MIN_RACKS);
            ITS_RACK_REMAINS.add(steps);
        }
    },
    /** The preferred replica leads for a while, which the broker may not notice. */
    IS_PASSED_OVER {
        @Override
        void add(Steps steps) {
            steps.add(Kind.PRODUCE);
            steps.othersReplicate();
            steps.add(Kind.PREFERRED);
            steps.others(Kind.METADATA);
            steps.others(Kind.FETCH);
            steps.list.add(new Step(Kind.FENCE, steps.setup.replicas().get(0), 0));
            steps.add(Kind.METADATA);
        }
    },
    /** All that can be repaired is repaired. */
    CALM {
        @Override
        void add(Steps steps) {
            steps.add(Kind.CALM);
        }
    };

    /** The steps so far. */
    private static final class Steps {

        private static final int ONE_BATCH = 1;

        private final Random random;
        private final Setup setup;
        private final int broker;
        private final List<Step> list = new ArrayList<>();

        private Steps(Random random, Setup setup, int broker) {
            this.random = random;
            this.setup = setup;
            this.broker = broker;
        }

        /** True once in so many times. */
        private boolean maybe(int times) {
            return random.nextInt(times) == 0;
        }

        private void add(Kind kind) {
            add(kind, broker);
        }

        private void add(Kind kind, int id) {
            list.add(new Step(kind, id, random.nextInt(1 << 20)));
        }

        private void others(Kind kind) {
            for (int id = 1; id <= setup.brokers(); id++)
                if (id != broker)
                    add(kind, id);
        }

        /** Two fetches: one brings the records, the next one reports that they are there. */
        private void replicates() {
            add(Kind.FETCH);
            add(Kind.FETCH);
        }

        private void othersReplicate() {
            others(Kind.FETCH);
            others(Kind.FETCH);
        }

        private void othersReadOneBatch() {
            for (int id = 1; id <= setup.brokers(); id++)
                if (id != broker)
                    list.add(new Step(Kind.METADATA, id, ONE_BATCH));
        }

        /** Each broker of the rack in which this one began, or each of the other racks. */
        private void rack(Kind kind, boolean same) {
            for (int id = 1; id <= setup.brokers(); id++)
                if (setup.rackOf(id).equals(setup.rackOf(broker)) == same)
                    add(kind, id);
        }

        private void time() {
            list.add(new Step(Kind.TIME, broker, 7_999));
        }
    }

    abstract void add(Steps steps);

    static List<Step> random(Random random, Setup setup, int broker) {
        Steps steps = new Steps(random, setup, broker);
        values()[random.nextInt(values().length)].add(steps);
        return steps.list;
    }
}
