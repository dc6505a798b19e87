// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.Node;

import java.util.function.Function;

/**
 * How racks are counted, for brokers, controllers, clients and tools alike: brokers without broker.rack share one rack, and a broker
 * whose rack is not known is in none.
 */
public final class Racks {

    /** The one rack that all brokers without broker.rack share. */
    public static final String UNNAMED = "";

    private Racks() {
    }

    /** The rack of a broker as clients know it; null if the broker is not there, so that nothing is known of it. */
    public static String of(Node node) {
        if (node.isEmpty())
            return null;
        return node.rack() == null ? UNNAMED : node.rack();
    }

    /** True if that is a broker with a broker.rack. */
    public static boolean isNamed(Node node) {
        return isNamed(of(node));
    }

    /** True for the rack of a broker with a broker.rack; null is not one. */
    public static boolean isNamed(String rack) {
        return rack != null && !rack.equals(UNNAMED);
    }

    /**
     * The number of distinct racks. There are few replicas, so that comparing each with those before it is less work than a set.
     *
     * @param replicas brokers, none of them twice
     * @param rackOf   the rack of one; null if it is not known
     */
    public static <T> int span(Iterable<T> replicas, Function<? super T, String> rackOf) {
        int span = 0;
        for (T replica : replicas) {
            String rack = rackOf.apply(replica);
            if (rack != null && isFirst(replica, rack, replicas, rackOf))
                span++;
        }
        return span;
    }

    private static <T> boolean isFirst(T replica, String rack, Iterable<T> replicas, Function<? super T, String> rackOf) {
        for (T other : replicas) {
            if (other.equals(replica))
                return true;
            if (rack.equals(rackOf.apply(other)))
                return false;
        }
        return true;
    }
}
