// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import java.util.function.LongSupplier;

/**
 * How long requests wait on one partition while no electable set can acknowledge them by itself: none that suffices is committed, or another one is
 * proposed and not answered. It begins with the first of the requests that wait now, or when the set ceased to suffice, whichever is later.
 */
final class ElectableWait {

    /** @param requests which requests wait, see {@link AckQuorum#busy} */
    private record Begun(int requests, long sinceMs) { }

    private final AckQuorum quorum;
    private final LongSupplier clock;
    private volatile Begun begun = null;

    ElectableWait(AckQuorum quorum, LongSupplier clock) {
        this.quorum = quorum;
        this.clock = clock;
    }

    /** Notes whether those who wait now have such a set. While they have, it costs a volatile read. */
    void note(boolean suffices) {
        Begun known = begun;
        if (suffices) {
            if (known != null)
                begun = null;
        } else if (known == null || known.requests != quorum.busy())
            begun = new Begun(quorum.busy(), clock.getAsLong());
    }

    /** The wait until now; 0 if nobody waits so. */
    long ms() {
        Begun known = begun;
        return known == null || !quorum.isAwaited() || known.requests != quorum.busy() ? 0 : Math.max(0, clock.getAsLong() - known.sinceMs);
    }
}
