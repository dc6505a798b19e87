// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

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
record Loss(SortedSet<String> racks, SortedSet<Integer> brokers, boolean unclean) {

    static final Loss NONE = new Loss(new TreeSet<>(), new TreeSet<>(), false);

    static Loss ofRacks(ClusterView view, Collection<String> racks, boolean unclean) {
        return new Loss(new TreeSet<>(racks), view.brokersIn(racks), unclean);
    }

    static Loss ofBrokers(Collection<Integer> brokers) {
        return new Loss(new TreeSet<>(), new TreeSet<>(brokers), false);
    }

    /**
     * Reads a list of racks and broker ids. `rack:` or `broker:` before a name says which one is meant.
     *
     * @throws UsageException if one is not there, or may be either
     */
    static Loss parse(ClusterView view, String text, boolean unclean) throws UsageException {
        SortedSet<String> racks = new TreeSet<>();
        SortedSet<Integer> brokers = new TreeSet<>();
        for (String item : text.split(",", -1)) {
            String name = item.trim();
            String asRack = name.startsWith("rack:") ? name.substring(5) : name;
            Integer asBroker = number(name.startsWith("broker:") ? name.substring(7) : name);
            boolean isRack = !name.startsWith("broker:") && view.racks().contains(asRack) && (!asRack.equals(Racks.UNNAMED) || name.startsWith("rack:"));
            boolean isBroker = !name.startsWith("rack:") && asBroker != null && view.brokers().containsKey(asBroker);
            if (isRack && isBroker)
                throw new UsageException("'" + name + "' is a rack and a broker. Write rack:" + name + " or broker:" + name + ".");
            if (isRack)
                racks.add(asRack);
            else if (isBroker)
                brokers.add(asBroker);
            else
                throw unknown(view, name);
        }
        brokers.addAll(view.brokersIn(racks));
        return new Loss(racks, brokers, unclean);
    }

    static UsageException unknown(ClusterView view, String name) {
        return new UsageException("'" + name + "' is neither a rack nor a registered broker. Racks: " + words(view.racks()) + "; brokers: " +
            view.brokers().keySet() + ".");
    }

    private static Integer number(String text) {
        return text.matches("\\d{1,9}") ? Integer.valueOf(text) : null;
    }

    /** Every set of so many racks. */
    static List<Loss> ofEach(ClusterView view, int racks, boolean unclean) {
        return subsets(view.racks(), racks).stream().map(chosen -> ofRacks(view, chosen, unclean)).toList();
    }

    /** All subsets of a size, in order. */
    static <T> List<List<T>> subsets(Collection<T> all, int size) {
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

    boolean has(int broker) {
        return brokers.contains(broker);
    }

    /** Racks in words: the unnamed one would be invisible. */
    static String words(Set<String> racks) {
        return String.join(", ", racks.stream().map(rack -> rack.equals(Racks.UNNAMED) ? "(no broker.rack)" : rack).toList());
    }

    String words() {
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
