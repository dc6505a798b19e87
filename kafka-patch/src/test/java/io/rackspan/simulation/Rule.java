// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import java.util.EnumSet;
import java.util.Set;

/**
 * A rule of the real classes that the simulation's adapters can knock out, to prove that the checks find what it is there for. The
 * product has no such switches.
 */
enum Rule {

    // of leaders
    APPEND_GATE("acks=all is refused while the ISR has too few replicas or racks"),
    AFTER_APPEND_GATE("a waiting write is refused if the ISR spans too few racks when it is reached"),
    HIGH_WATERMARK_SPAN("the high watermark stays while the ISR spans too few racks"),
    HIGH_WATERMARK_NUMBER("the high watermark stays while the ISR has too few replicas"),
    MAXIMAL_ISR("a follower counts until the controller has agreed to remove it"),
    NEWEST_RACKS("a leader counts the racks of the newest metadata"),
    CHANGES_WAKE("waiting writes are checked when settings or racks change"),
    ADDED_SERVE("replicas that are being added require no rack of the leader until they are in sync"),
    ADDED_AGREED("racks of added replicas count when the controller has agreed to all of them"),
    RACKS_IN_CHANGE("while brokers change their racks the smaller span of those before and after counts"),
    MISSED_ELECTIONS("a leader that missed an election in between forgets what followers had reported"),
    /** The correction of the patch known-metadata. */
    KNOWN_METADATA("metadata that brings a leader nothing new leaves its proposal alone"),
    STALE_METADATA("metadata older than the leader's own partition epoch is skipped"),
    EPOCH_START("a follower joins the ISR when it has all from before this leader"),
    FOLLOWER_BROKER_EPOCH("a fetch of an earlier incarnation of a broker does not count"),
    FOLLOWER_REGISTRATION("a fetch counts when its leader knows the registration that it was made under"),
    FETCH_LEADER_EPOCH("a fetch of another leader epoch is refused"),
    TRUNCATION("a follower truncates what its leader does not have"),
    QUORUM_SPAN("acks=min.insync.replicas waits for racks"),
    QUORUM_NUMBER("acks=min.insync.replicas waits for replicas"),
    LEDGER_FIRST("nothing is acknowledged in fewer racks than promised before the ledger says so"),
    QUORUM_TERM("acks=min.insync.replicas ends with the term that it was appended in"),

    // of the controller
    ELIGIBLE_SPAN("replicas that left stay eligible until the ISR spans enough racks"),
    ELIGIBLE_NUMBER("replicas that left stay eligible until the ISR has enough replicas"),
    ELIGIBLE_CLEAN("a replica that came back from an unclean shutdown is not eligible"),
    ELIGIBLE_SETTINGS("a changed minimum clears the eligible replicas"),
    ELIGIBLE_KEPT("a changed minimum keeps the eligible replicas of a partition without a leader"),
    ELECTED_ALONE("an elected leader that suffices alone leaves no replica eligible"),
    ELIGIBLE_RACKS("a changed rack clears eligible replicas that might miss records"),
    ADDED_ELIGIBLE("replicas that are being added require no rack of the controller until they are in sync"),
    REASSIGNED_SPAN("a reassignment ends when the ISR behind it spans enough racks"),
    CANCELLED_SPAN("a reassignment is cancelled only if the ISR behind it suffices"),
    FENCED_LEAVE("a fenced broker leaves the ISR"),
    ALTER_LEADER_EPOCH("AlterPartition of an earlier leader epoch is refused"),
    ALTER_PARTITION_EPOCH("AlterPartition of an earlier partition epoch is refused"),
    REFUSED_COPIES("AlterPartition that was refused for an ineligible replica is not accepted later"),
    ALTER_BROKER_EPOCH("AlterPartition with brokers of an earlier registration is refused"),

    // of electable sets
    QUORUM_MEMBERS("acks=min.insync.replicas waits for every member of the electable set"),
    QUORUM_PROPOSED("acks=min.insync.replicas waits for the members of a proposed set, too"),
    QUORUM_EMPTYING("nothing is acknowledged by a set that is proposed to be emptied"),
    HIGH_WATERMARK_MEMBERS("the high watermark stays while a member of the electable set is not in sync"),
    MEMBER_ACKNOWLEDGED("who joins the electable set has all that this leader has acknowledged"),
    MEMBER_EPOCH_START("who joins the electable set has all from before this leader"),
    EMPTIED_DRAINED("an electable set is emptied when the high watermark has passed what it acknowledged"),
    ELECTED_MEMBERS("who follows a failed leader is of the electable set"),
    PLANNED_MEMBERS("who is elected as planned is of the electable set"),
    UNCLEAN_MEMBERS("a member that came back from an unclean shutdown may not lead"),
    REASSIGNED_MEMBERS("a reassignment ends when the electable set is within what stays"),
    SETS_REFUSED("no electable set is accepted below level 2"),
    SETS_LOWER_REFUSED("the level cannot be lowered below 2 while there are electable sets"),

    // of the level
    STOCK_REFUSED("a broker that does not know the level cannot register"),
    RAISE_REFUSED("the level cannot be raised while brokers are registered that do not know it"),
    LOWER_REFUSED("the level cannot be lowered while a partition has more eligible replicas than stock expects"),
    STATIC_IMPORTED("the controllers' static min.insync.racks becomes the cluster default when the level is raised"),
    RACK_REQUIRED("a broker without a rack cannot register while racks are required"),
    RACKS_CHECKED("racks cannot be required while a broker without a rack is registered"),
    STATIC_IGNORED("the controller goes by the metadata log, and by no setting of its own");

    /** Those that 300 histories may miss: see the table of docs/results/simulation.md. */
    static final Set<Rule> RARE = EnumSet.of(RACKS_IN_CHANGE, MISSED_ELECTIONS, KNOWN_METADATA, FOLLOWER_BROKER_EPOCH, FETCH_LEADER_EPOCH,
        CANCELLED_SPAN, ALTER_LEADER_EPOCH, ALTER_PARTITION_EPOCH, REFUSED_COPIES, ALTER_BROKER_EPOCH, RACKS_CHECKED,
        ADDED_AGREED, FOLLOWER_REGISTRATION, ELIGIBLE_SETTINGS, RACK_REQUIRED,
        QUORUM_PROPOSED, QUORUM_EMPTYING, MEMBER_ACKNOWLEDGED, MEMBER_EPOCH_START, REASSIGNED_MEMBERS, EMPTIED_DRAINED, SETS_REFUSED, REASSIGNED_SPAN);

    final String text;

    Rule(String text) {
        this.text = text;
    }
}
