// SPDX-License-Identifier: Apache-2.0
package io.rackspan.prediction;

import io.rackspan.prediction.ClusterView.Voter;

import java.util.List;

/** The controllers' quorum after a loss. Without it no in-sync set changes and no leader is elected. */
public final class Quorum {

    private Quorum() {
    }

    /** NO where a majority is lost; UNKNOWN where that depends on racks of voters that are not known. */
    public static Verdict after(ClusterView view, Loss loss) {
        int sure = 0;
        int possible = 0;
        for (Voter voter : view.voters()) {
            if (!voter.alive() || loss.has(voter.id()) || voter.rack() != null && loss.racks().contains(voter.rack()))
                continue;
            possible++;
            if (voter.rack() != null || loss.racks().isEmpty())
                sure++;
        }
        int majority = view.voters().size() / 2 + 1;
        return sure >= majority ? Verdict.YES : possible < majority ? Verdict.NO : Verdict.UNKNOWN;
    }

    /** The voters that are down, if the loss could be borne with all of them back; else none. */
    public static List<Integer> waitFor(ClusterView view, Loss loss) {
        List<Voter> back = view.voters().stream().map(voter -> new Voter(voter.id(), voter.rack(), true)).toList();
        ClusterView healed = new ClusterView(view.level(), view.elr(), view.brokers(), view.defaults(), view.topics(), back);
        return after(healed, loss) == Verdict.YES ? view.voters().stream().filter(voter -> !voter.alive()).map(Voter::id).toList() : List.of();
    }

    /** The voters whose rack is not known, in words for a message; empty if there are none. */
    public static String unknownRacks(ClusterView view) {
        return String.join(", ", view.voters().stream().filter(voter -> voter.rack() == null).map(voter -> String.valueOf(voter.id())).toList());
    }
}
