// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import java.util.EnumSet;
import java.util.Set;

/** What may happen to a simulated cluster beside writes, fetches, late metadata and a network that loses and reorders. */
enum Peril {

    CRASH, POWER, DISK, SHUTDOWN, FENCE, REASSIGN, RELABEL,
    /** A broker restarts without broker.rack. Where it is, nobody else knows. */
    RACKLESS,
    /**
     * Minimums change while the partition has a leader, or from level 1 on none, and every broker learns of it at once. What is missing
     * then is to be complete before more is destroyed.
     */
    SETTINGS,
    /** The minimum of racks is lowered for a time, and restored, as the minimums change: every broker learns of it at once. */
    DEGRADE,
    /** The cluster is formed at level 0 with stock brokers; the level is raised and lowered. */
    LEVEL,
    /** A request is served while metadata is being published: the cache is new, the partitions are not. */
    HALF_PUBLISHED,
    /** The thread of a request with acks=min.insync.replicas is preempted between its append and its wait. */
    PREEMPTED,
    /** Minimums change while every replica is in sync; brokers learn of it when it suits the network. */
    LATE_SETTINGS,
    /** Minimums change at any time: also while the leader has crashed and the controller does not know it yet. */
    OUTAGE_SETTINGS,
    /** A reassignment begins while another is under way. */
    OVERLAP,
    /** A reassignment brings back a replica that an earlier one removed, at level 0, where it may still be eligible, as well. */
    RETURN;

    /** What a cluster survives. The others are off unless they are named: each has a known defect. */
    static final Set<Peril> SURVIVED = EnumSet.of(CRASH, POWER, DISK, SHUTDOWN, FENCE, REASSIGN, RELABEL, RACKLESS, SETTINGS, LEVEL,
        HALF_PUBLISHED, PREEMPTED, DEGRADE);
}
