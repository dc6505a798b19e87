// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

/** What a listener of a partition's ISR is besides, if it counts changes of the electable set. */
public interface ElectableSetListener {

    /** Another electable set that this broker has proposed is in force. */
    void markElectableSetChange();

    /** Calls this listener, if it is one of these. */
    static Runnable of(Object listener) {
        return listener instanceof ElectableSetListener counting ? counting::markElectableSetChange : () -> { };
    }
}
