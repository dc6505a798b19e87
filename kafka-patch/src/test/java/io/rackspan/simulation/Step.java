// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

/**
 * One thing that happens. A step whose broker or message is not there, or that would be more than the guarantee covers, does nothing,
 * so that a history can be shortened by taking any steps out.
 *
 * @param broker a broker id, where the kind needs one
 * @param choice a number from which the rest is chosen
 */
record Step(Kind kind, int broker, int choice) {

    enum Kind {
        PRODUCE(26, null), PRODUCE_QUORUM(6, null), PRODUCE_ONE(3, null), FETCH(40, null), SEND_FETCH(10, null), DELIVER(24, null), DELIVER_PROMPT(3, null),
        LOSE(4, null),
        CONSUME(6, null), METADATA(34, null), HEARTBEAT(12, null), TIME(5, null), CHECK_ISR(10, null), FLUSH(3, null), PREFERRED(2, null),
        CALM(2, null), START(18, null),
        STOP(3, Peril.CRASH), KILL(2, Peril.CRASH), POWER_CUT(4, Peril.POWER), RACK_POWER_CUT(4, Peril.POWER), DISK_FAILURE(2, Peril.DISK),
        SHUTDOWN(3, Peril.SHUTDOWN), FENCE(6, Peril.FENCE), MIN_REPLICAS(1, Peril.SETTINGS), MIN_RACKS(2, Peril.SETTINGS),
        LATE_MINIMUMS(2, Peril.LATE_SETTINGS), OUTAGE_MINIMUMS(2, Peril.OUTAGE_SETTINGS), RAISE(3, Peril.LEVEL), LOWER(1, Peril.LEVEL), REPLACE(3, Peril.LEVEL), DEGRADE(4, Peril.DEGRADE), RESTORE(2, Peril.DEGRADE),
        REASSIGN(2, Peril.REASSIGN), CANCEL(1, Peril.REASSIGN), REASSIGN_AGAIN(2, Peril.OVERLAP), REASSIGN_BACK(2, Peril.RETURN), RELABEL(3, Peril.RELABEL), UNLABEL(2, Peril.RACKLESS),
        HALF_METADATA(6, Peril.HALF_PUBLISHED), PRODUCE_PREEMPTED(3, Peril.PREEMPTED), RESUME(6, Peril.PREEMPTED);

        final int weight;
        /** The peril that the step belongs to; null if it is of every day. */
        final Peril peril;

        Kind(int weight, Peril peril) {
            this.weight = weight;
            this.peril = peril;
        }
    }
}
