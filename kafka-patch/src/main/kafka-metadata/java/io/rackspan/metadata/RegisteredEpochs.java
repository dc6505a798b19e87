// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.image.ClusterImage;

import java.util.Arrays;

/** The epoch of each broker's registration, for the fetches of followers, each of which asks for one. Immutable. */
public final class RegisteredEpochs {

    public static final RegisteredEpochs NONE = new RegisteredEpochs(ClusterImage.EMPTY);

    /** Ids below this have a place of their own. */
    private static final int PLACES = 4096;

    private final ClusterImage cluster;
    private final long[] epochs;

    public RegisteredEpochs(ClusterImage cluster) {
        this.cluster = cluster;
        this.epochs = new long[cluster.brokers().keySet().stream().filter(id -> id < PLACES).mapToInt(id -> id + 1).max().orElse(0)];
        Arrays.setAll(epochs, id -> cluster.brokerEpoch(id));
    }

    /** The epoch of a broker's registration, fenced or not; -1 if it has none. */
    public long of(int broker) {
        return broker >= 0 && broker < epochs.length ? epochs[broker] : cluster.brokerEpoch(broker);
    }
}
