// SPDX-License-Identifier: Apache-2.0
package io.rackspan.prediction;

import io.rackspan.protocol.Racks;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * What is lost at once.
 *
 * @param racks   complete racks, controllers included
 * @param brokers brokers, those of the racks included
 * @param unclean true if records go with them that had not reached a disk
 */
public record Loss(SortedSet<String> racks, SortedSet<Integer> brokers, boolean unclean) {

    public static final Loss NONE = new Loss(new TreeSet<>(), new TreeSet<>(), false);

    public static Loss ofRacks(ClusterView view, Collection<String> racks, boolean unclean) {
        return new Loss(new TreeSet<>(racks), view.brokersIn(racks), unclean);
    }

    public static Loss ofBrokers(Collection<Integer> brokers) {
        return new Loss(new TreeSet<>(), new TreeSet<>(brokers), false);
    }

    /** Every set of so many racks. */
    public static List<Loss> ofEach(ClusterView view, int racks, boolean unclean) {
        return subsets(view.racks(), racks).stream().map(chosen -> ofRacks(view, chosen, unclean)).toList();
    }

    /** All subsets of a size, in order. */
    public static <T> List<List<T>> subsets(Collection<T> all, int size) {
        List<T> items = List.copyOf(all);
        List<List<T>> found = new ArrayList<>();
        extend(items, size, 0, new ArrayList<>(), found);
        return found;
    }

    private static <T> void extend(List<T> items, int size, int from, List<T> chosen, List<List<T>> found) {
        if (chosen.size() == size) {
            found.add(List.copyOf(chosen));
            return;
        }
        for (int next = from; next < items.size(); next++) {
            chosen.add(items.get(next));
            extend(items, size, next + 1, chosen, found);
            chosen.remove(chosen.size() - 1);
        }
    }

    public boolean has(int broker) {
        return brokers.contains(broker);
    }

    /** Racks in words: the unnamed one would be invisible. */
    public static String words(Set<String> racks) {
        return String.join(", ", racks.stream().map(rack -> rack.equals(Racks.UNNAMED) ? "(no broker.rack)" : rack).toList());
    }

    public String words() {
        List<String> parts = new ArrayList<>();
        if (!racks.isEmpty())
            parts.add((racks.size() == 1 ? "rack " : "racks ") + words(racks));
        if (racks.isEmpty() && !brokers.isEmpty())
            parts.add((brokers.size() == 1 ? "broker " : "brokers ") + String.join(", ", brokers.stream().map(String::valueOf).toList()));
        else if (!brokers.isEmpty())
            parts.add("brokers " + String.join(", ", brokers.stream().map(String::valueOf).toList()));
        return parts.isEmpty() ? "nothing" : String.join(": ", parts);
    }
}
