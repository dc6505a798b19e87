package io.rackspan.metadata;

import org.apache.kafka.image.ClusterImage;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.IntFunction;

/**
 * The rack of every registered broker. Immutable, and replaced only when a rack changes, so
 * that a count of racks holds as long as its set of brokers and this object are the same.
 */
public final class BrokerRacks {

    public static final BrokerRacks EMPTY = new BrokerRacks(Map.of());

    /** The one rack that all brokers without broker.rack share. */
    public static final String UNNAMED = "";

    private final Map<Integer, String> racks;

    private BrokerRacks(Map<Integer, String> racks) {
        this.racks = racks;
    }

    /** The racks by broker id; a null rack is the unnamed one. */
    public static BrokerRacks of(Map<Integer, String> rackByBroker) {
        Map<Integer, String> racks = new HashMap<>();
        rackByBroker.forEach((id, rack) -> racks.put(id, rack == null ? UNNAMED : rack));
        return new BrokerRacks(Map.copyOf(racks));
    }

    /** These racks if the cluster has no others, else new ones. */
    public BrokerRacks updated(ClusterImage cluster) {
        Map<Integer, String> now = new HashMap<>();
        cluster.brokers().forEach((id, registration) -> now.put(id, registration.rack().orElse(UNNAMED)));
        return now.equals(racks) ? this : new BrokerRacks(Map.copyOf(now));
    }

    /** The rack of a broker; null if it was never registered. */
    public String rackOf(int broker) {
        return racks.get(broker);
    }

    /** The number of distinct racks of these brokers. A broker that was never registered is in no rack that is known. */
    public int span(Collection<Integer> brokers) {
        return racksOf(brokers).size();
    }

    /** The distinct racks of these brokers, in order. */
    public SortedSet<String> racksOf(Collection<Integer> brokers) {
        return racksOf(brokers, racks::get);
    }

    /** The same, of brokers whose racks a function gives; null is in no rack that is known. */
    static SortedSet<String> racksOf(Collection<Integer> brokers, IntFunction<String> rackOf) {
        SortedSet<String> found = new TreeSet<>();
        for (int broker : brokers) {
            String rack = rackOf.apply(broker);
            if (rack != null)
                found.add(rack);
        }
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
