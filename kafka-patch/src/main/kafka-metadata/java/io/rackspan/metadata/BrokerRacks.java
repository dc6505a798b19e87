// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.image.ClusterImage;
import org.apache.kafka.metadata.BrokerRegistration;

import io.rackspan.protocol.Racks;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/**
 * The rack of every registered broker. Immutable, and replaced only when a rack changes, so
 * that a count of racks holds as long as its set of brokers and this object are the same.
 */
public final class BrokerRacks {

    public static final BrokerRacks EMPTY = of(Map.of());

    /** Brokers are relabelled one by one, and a wrong label is corrected: nothing is final for as long. */
    static final long RELABELLING_NS = TimeUnit.MINUTES.toNanos(5);

    /** The one rack that all brokers without broker.rack share. */
    public static final String UNNAMED = Racks.UNNAMED;

    private final Map<Integer, String> racks;

    /** The racks before a change that partitions may not have applied yet; the very racks of now if there is none. */
    private final Map<Integer, String> before;

    /** When this node learned that brokers had got another rack, by System.nanoTime(). */
    private final Map<Integer, Long> relabelled;

    private BrokerRacks(Map<Integer, String> racks, Map<Integer, String> before, Map<Integer, Long> relabelled) {
        this.racks = racks;
        this.before = before;
        this.relabelled = relabelled;
    }

    /** The racks by broker id; a null rack is the unnamed one. */
    public static BrokerRacks of(Map<Integer, String> rackByBroker) {
        Map<Integer, String> racks = new HashMap<>();
        rackByBroker.forEach((id, rack) -> racks.put(id, rack == null ? UNNAMED : rack));
        Map<Integer, String> copy = Map.copyOf(racks);
        return new BrokerRacks(copy, copy, Map.of());
    }

    /**
     * These racks if the cluster has no others, else new ones. A broker that changes its rack, or is unregistered, leaves the ISR by the same
     * metadata update, which partitions apply one after the other. Until {@link #settled}, a span is therefore counted with the racks
     * before and with those after, and the one that promises less is taken.
     */
    public BrokerRacks updated(ClusterImage cluster) {
        Map<Integer, String> now = new HashMap<>();
        cluster.brokers().forEach((id, registration) -> now.put(id, registration.rack().orElse(UNNAMED)));
        if (now.equals(racks))
            return this;
        Map<Integer, Long> times = new HashMap<>();
        cluster.brokers().forEach((id, registration) -> {
            if (registration.relabelledNs() != null)
                times.put(id, registration.relabelledNs());
        });
        Map<Integer, String> after = Map.copyOf(now);
        Map<Integer, String> old = new HashMap<>(now);
        old.putAll(racks);
        return new BrokerRacks(after, old.equals(now) ? after : Map.copyOf(old), Map.copyOf(times));
    }

    /** These racks, after every partition has applied what came with them. */
    public BrokerRacks settled() {
        return before == racks ? this : new BrokerRacks(racks, racks, relabelled);
    }

    /** The rack of a broker; null if it was never registered. */
    public String rackOf(int broker) {
        return racks.get(broker);
    }

    /** The rack that a broker has for sure: null also while it changes. */
    public String settledRackOf(int broker) {
        String rack = racks.get(broker);
        return before == racks || rack == null || rack.equals(before.get(broker)) ? rack : null;
    }

    /** True if the broker of these two registrations has another rack since the second; one that had none got its first. */
    public static boolean isRelabelled(BrokerRegistration before, BrokerRegistration after) {
        return before.rack().isPresent() && !before.rack().equals(after.rack());
    }

    /**
     * True if one of these brokers got another rack less than {@link #RELABELLING_NS} ago. A node that starts reads changes in its metadata
     * log again, and counts them from then on; it does not know of those before its newest snapshot.
     */
    public boolean isRelabelling(Collection<Integer> brokers) {
        return isRelabelling(brokers, System.nanoTime());
    }

    boolean isRelabelling(Collection<Integer> brokers, long nowNs) {
        return !relabelled.isEmpty() && brokers.stream().map(relabelled::get).anyMatch(time -> time != null && nowNs - time < RELABELLING_NS);
    }

    /** The number of distinct racks that these brokers are in for sure. A broker that was never registered is in no rack that is known. */
    public int span(Collection<Integer> brokers) {
        int span = Racks.span(brokers, racks::get);
        return before == racks ? span : Math.min(span, Racks.span(brokers, before::get));
    }

    /** The number of distinct racks that these brokers may be in. It differs from {@link #span} only while racks change. */
    public int possibleSpan(Collection<Integer> brokers) {
        int span = Racks.span(brokers, racks::get);
        return before == racks ? span : Math.max(span, Racks.span(brokers, before::get));
    }

    /** The distinct racks of these brokers, in order. */
    public SortedSet<String> racksOf(Collection<Integer> brokers) {
        SortedSet<String> found = new TreeSet<>();
        for (int broker : brokers)
            if (racks.containsKey(broker))
                found.add(racks.get(broker));
        return found;
    }

    /** Every rack that a registered broker is in, in order. */
    public SortedSet<String> known() {
        return new TreeSet<>(racks.values());
    }

    /** The registered brokers without broker.rack, in order. */
    public SortedSet<Integer> unnamedBrokers() {
        SortedSet<Integer> unnamed = new TreeSet<>();
        new TreeMap<>(racks).forEach((id, rack) -> {
            if (rack.equals(UNNAMED))
                unnamed.add(id);
        });
        return unnamed;
    }

    /** Racks in words: the unnamed one would be invisible. */
    public static String describe(Collection<String> racks) {
        return String.join(", ", racks.stream().map(rack -> rack.equals(UNNAMED) ? "(no broker.rack)" : rack).toList());
    }
}
