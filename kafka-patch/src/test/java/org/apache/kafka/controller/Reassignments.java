// SPDX-License-Identifier: Apache-2.0
package org.apache.kafka.controller;

import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;

import java.util.List;
import java.util.Optional;

/** How reassignments end by the base's own rules, which do not look at racks. */
public final class Reassignments {

    private Reassignments() { }

    /** The change as the base would make it; itself if it ends no reassignment. */
    public static PartitionChangeRecord completed(PartitionRegistration before, PartitionChangeRecord change) {
        PartitionRegistration next = before.merge(change);
        return new PartitionReassignmentReplicas(Replicas.toList(next.removingReplicas), Replicas.toList(next.addingReplicas), Replicas.toList(next.replicas))
            .maybeCompleteReassignment(Replicas.toList(next.isr))
            .map(end -> ended(next, change, end.isr(), end.replicas())).orElse(change);
    }

    /** The change that cancels the reassignment of a partition; empty if there is none, or the base refuses to cancel it. */
    static Optional<PartitionChangeRecord> cancelled(PartitionRegistration now, PartitionChangeRecord change) {
        if (now.addingReplicas.length + now.removingReplicas.length == 0)
            return Optional.empty();
        PartitionReassignmentRevert revert = new PartitionReassignmentRevert(now);
        return revert.unclean() ? Optional.empty() : Optional.of(ended(now, change, revert.isr(), revert.replicas()));
    }

    private static PartitionChangeRecord ended(PartitionRegistration now, PartitionChangeRecord change, List<Integer> isr, List<Integer> replicas) {
        return change.duplicate().setIsr(isr).setReplicas(replicas).setRemovingReplicas(List.of()).setAddingReplicas(List.of())
            .setDirectories(replicas.stream().map(now::directory).toList())
            .setEligibleLeaderReplicas(Replicas.toList(now.elr).stream().filter(replicas::contains).toList())
            .setLeader(isr.contains(now.leader) ? now.leader : isr.get(0));
    }
}
