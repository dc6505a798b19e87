// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.Loss;
import io.rackspan.protocol.Racks;

import java.util.SortedSet;
import java.util.TreeSet;

/** The losses that options name. */
final class LossOption {

    private LossOption() {
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
        return new UsageException("'" + name + "' is neither a rack nor a registered broker. Racks: " + Loss.words(view.racks()) + "; brokers: " +
            view.brokers().keySet() + ".");
    }

    private static Integer number(String text) {
        return text.matches("\\d{1,9}") ? Integer.valueOf(text) : null;
    }
}
