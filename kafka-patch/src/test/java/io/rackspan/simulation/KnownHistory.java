// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * A history made by hand that violates something without its rule, and nothing with it. {@link Swarm} plays the steps of such histories
 * in other clusters, with other brokers, and with some steps more or less.
 */
record KnownHistory(Rule rule, Violation.Kind kind, Setup setup, String steps) {

    private static final String SHRINK_3 = "PRODUCE 1 0, FETCH 2 1, TIME 1 7999, FETCH 2 1, TIME 1 7999, FETCH 2 1, CHECK_ISR 1 0, ";

    /** Broker 3 loses its records after its leader has proposed to add it to the ISR, and before the controller reads of it. */
    private static final String TORN_WHILE_IT_JOINS = "PRODUCE 1 0, FETCH 2 1, FETCH 3 1, FETCH 2 1, FETCH 3 1, FENCE 3 0, METADATA 1 0, HEARTBEAT 3 0, " +
        "METADATA 1 0, METADATA 3 0, FETCH 3 1, POWER_CUT 3 0, START 3 0, HEARTBEAT 3 0, DELIVER 1 0, FENCE 1 0, FENCE 2 0, METADATA 3 0";

    /** Broker 3 has no rack and is in the rack of broker 1; both acknowledge, and lose their power. */
    private static final String LOST_TOGETHER = "FENCE 2 0, METADATA 1 0, PRODUCE 1 0, FETCH 3 1, FETCH 3 1, RACK_POWER_CUT 1 0";

    private static final String UNLABELLED_3 = "UNLABEL 3 0, METADATA 1 0, HEARTBEAT 3 0, METADATA 1 0, METADATA 3 0, FETCH 3 1, DELIVER 1 0, DELIVER 1 0, ";

    /** Nobody leads, brokers 1 and 3 are eligible, and one replica is enough from then on. */
    private static final String LOWERED_IN_AN_OUTAGE = "FENCE 2 0, FENCE 3 0, FENCE 1 0, MIN_REPLICAS 1 0, ";

    private static final String ACKNOWLEDGED_BY_1_THEN_3_LEADS = "HEARTBEAT 1 0, METADATA 1 0, PRODUCE 1 0, FENCE 1 0, HEARTBEAT 3 0, METADATA 3 0";

    /** Brokers 1 and 2 are the electable set, and have not acknowledged the record yet. */
    private static final String SET_1_2 = "FETCH 2 1, FETCH 3 1, PRODUCE_QUORUM 1 0, DELIVER 1 0, DELIVER 1 0, METADATA 1 0, ";

    /** They acknowledge what broker 3 lacks. */
    private static final String TWO_ACKNOWLEDGED_BY_1_2 = SET_1_2 + "PRODUCE_QUORUM 1 0, FETCH 2 1, FETCH 2 1, ";

    private static final String ALL_FETCH = "FETCH 2 1, FETCH 2 1, FETCH 3 1, FETCH 3 1, ";

    private static Setup setup(String racks, List<Integer> replicas, int minReplicas, int minRacks) {
        return new Setup(List.of(racks.split("")), replicas, minReplicas, minRacks, 1, 1, Set.of());
    }

    /** A cluster at level 2 of three racks, in which two replicas have to have a record. */
    private static Setup electable(List<Integer> replicas) {
        return new Setup(List.of("a", "b", "c"), replicas, 2, 2, 2, 1, Set.of());
    }

    private static List<KnownHistory> all() {
        List<Integer> three = List.of(1, 2, 3);
        return List.of(
            // The leader has the answer that ended the reassignment of broker 3 into rack b, and not the metadata
            new KnownHistory(Rule.ADDED_AGREED, Violation.Kind.READ_THEN_LOST, setup("aab", List.of(1, 2), 1, 1), "MIN_RACKS 1 1, METADATA 1 0, METADATA 2 0, " +
                "METADATA 3 0, REASSIGN 1 1, METADATA 1 0, METADATA 2 0, METADATA 3 0, PRODUCE_ONE 1 0, FETCH 2 1, FETCH 2 1, FETCH 3 1, FETCH 3 1, DELIVER 1 0, " +
                "DELIVER 1 0, PRODUCE_ONE 1 0, FETCH 2 1, FETCH 2 1, TIME 1 7999, FETCH 2 1, TIME 1 7999, FETCH 2 1, CHECK_ISR 1 0, DELIVER 1 0, DELIVER 1 0, " +
                "CONSUME 1 0, FENCE 1 0, FENCE 2 0, METADATA 3 0"),
            // Broker 2 fetches from rack a, before the leader knows that it left rack b
            new KnownHistory(Rule.FOLLOWER_REGISTRATION, Violation.Kind.ACKNOWLEDGED_UNDER_MINIMUM, setup("abc", List.of(1, 2), 2, 2), "PRODUCE 1 0, FETCH 2 1, " +
                "FETCH 2 1, RELABEL 2 0, HEARTBEAT 2 0, METADATA 2 0, HEARTBEAT 2 0, METADATA 2 0, PRODUCE 1 0, FETCH 2 1, FETCH 2 1"),
            new KnownHistory(Rule.FENCED_LEAVE, Violation.Kind.NOT_ANSWERED, setup("abc", three, 1, 1), "PRODUCE 1 0, FENCE 3 0, METADATA 1 0"),
            // The thread of record 0 continues in a later term of the same leader, which has another record at that offset
            new KnownHistory(Rule.QUORUM_TERM, Violation.Kind.ACKNOWLEDGED_UNDER_MINIMUM, setup("abc", three, 2, 2), "PRODUCE_PREEMPTED 1 0, FENCE 1 0, METADATA 1 0, " +
                "METADATA 2 0, METADATA 3 0, PRODUCE 2 0, FETCH 3 1, FETCH 3 1, FETCH 1 1, FETCH 1 1, HEARTBEAT 1 0, METADATA 2 0, FETCH 1 1, DELIVER 1 0, " +
                "DELIVER 1 0, FENCE 2 0, METADATA 1 0, RESUME 1 0"),
            // A proposal to add broker 3 arrives a second time, after it was removed again
            new KnownHistory(Rule.ALTER_PARTITION_EPOCH, Violation.Kind.LOST, setup("abc", three, 2, 2), "FENCE 3 0, METADATA 1 0, HEARTBEAT 3 0, METADATA 1 0, " +
                "METADATA 3 0, FETCH 3 1, LOSE 1 0, DELIVER 1 1, DELIVER 1 1, METADATA 1 0, METADATA 3 0, " + SHRINK_3 + "DELIVER 1 1, DELIVER 1 1, FETCH 2 1, " +
                "DELIVER 1 0, FENCE 1 0, FENCE 2 0, METADATA 3 0"),
            // The leader has the answers that removed and added broker 3, then reads that it was removed
            new KnownHistory(Rule.STALE_METADATA, Violation.Kind.LOST, setup("abc", three, 2, 2), SHRINK_3 + "DELIVER 1 0, DELIVER 1 0, FETCH 3 1, FETCH 3 1, " +
                "DELIVER 1 0, DELIVER 1 0, TIME 1 7999, TIME 1 7999, METADATA 1 1, PRODUCE 1 0, FETCH 2 1, FETCH 2 1, FENCE 1 0, FENCE 2 0, METADATA 3 0"),
            new KnownHistory(Rule.ALTER_BROKER_EPOCH, Violation.Kind.LOST, setup("abc", three, 2, 2), TORN_WHILE_IT_JOINS),
            // A copy of the proposal to add broker 3 arrives after the proposal was refused, and the leader has acknowledged without broker 3
            new KnownHistory(Rule.REFUSED_COPIES, Violation.Kind.LOST, setup("abc", three, 1, 1), "FENCE 2 0, FENCE 3 0, METADATA 1 0, HEARTBEAT 3 0, METADATA 1 0, " +
                "METADATA 3 0, FETCH 3 1, FENCE 3 0, LOSE 1 0, DELIVER_PROMPT 1 0, METADATA 1 0, PRODUCE 1 0, HEARTBEAT 3 0, DELIVER 1 0, FENCE 1 0"),
            // A fetch that broker 3 sent before it lost its records arrives when its leader knows its new registration
            new KnownHistory(Rule.FOLLOWER_BROKER_EPOCH, Violation.Kind.LOST, setup("abc", three, 2, 2), "FENCE 3 0, METADATA 1 0, PRODUCE 1 0, FETCH 2 1, FETCH 2 1, " +
                "HEARTBEAT 3 0, METADATA 1 0, METADATA 3 0, FETCH 3 1, SEND_FETCH 3 1, POWER_CUT 3 0, START 3 0, HEARTBEAT 3 0, METADATA 3 0, METADATA 1 0, " +
                "DELIVER 1 0, DELIVER 1 0, FENCE 1 0, FENCE 2 0, METADATA 3 0"),
            // Broker 3 joins with less than what broker 1 acknowledged and broker 2 has above its high watermark
            new KnownHistory(Rule.EPOCH_START, Violation.Kind.LOST, setup("abc", three, 2, 2), "FENCE 3 0, METADATA 1 0, PRODUCE 1 0, PRODUCE 1 0, FETCH 2 1, FETCH 2 1, " +
                "HEARTBEAT 3 0, FENCE 1 0, METADATA 2 0, METADATA 3 0, SEND_FETCH 3 1, DELIVER 1 0, DELIVER 1 0, FENCE 2 0, METADATA 3 0"),
            // Brokers 2 and 4 fetch from broker 5 by the metadata of its first term, and do not truncate
            new KnownHistory(Rule.FETCH_LEADER_EPOCH, Violation.Kind.NOT_WRITABLE, setup("ababab", List.of(5, 4, 2), 2, 1), "FENCE 2 0, FENCE 5 0, HALF_METADATA 4 185992, " +
                "PRODUCE_ONE 5 0, FETCH 2 564360, HEARTBEAT 5 0, FENCE 4 0, HEARTBEAT 2 0, HEARTBEAT 4 0, METADATA 5 0, FETCH 2 1, DELIVER 5 1, METADATA 5 0, PRODUCE 5 0, " +
                "FETCH 4 1, DELIVER 5 1, FETCH 4 1, DELIVER 5 0, FENCE 5 0"),
            // Broker 2 leads in between, and broker 3 truncates
            new KnownHistory(Rule.MISSED_ELECTIONS, Violation.Kind.LOST, setup("abc", List.of(2, 1, 3), 2, 2), "FENCE 2 0, METADATA 1 0, METADATA 2 0, METADATA 3 0, " +
                "HEARTBEAT 2 0, METADATA 1 0, FETCH 2 1, DELIVER 1 0, DELIVER 1 0, METADATA 1 0, METADATA 2 0, METADATA 3 0, PRODUCE 1 0, FETCH 3 1, FETCH 3 1, " +
                "PREFERRED 1 0, METADATA 2 0, METADATA 3 0, FETCH 3 1, FENCE 2 0, METADATA 1 0, FENCE 1 0, METADATA 3 0"),
            // All replicas are in one rack from then on, and the high watermark moves without broker 2
            new KnownHistory(Rule.ELIGIBLE_RACKS, Violation.Kind.READ_THEN_LOST, setup("aba", three, 2, 2), "RELABEL 2 0, METADATA 1 0, HEARTBEAT 2 0, PRODUCE_ONE 1 0, " +
                "FETCH 3 1, FETCH 3 1, CONSUME 1 0, FENCE 1 0, FENCE 3 0, METADATA 2 0"),
            // Broker 2 is not in sync, and brokers 1 and 4 of the target are in one rack
            new KnownHistory(Rule.REASSIGNED_SPAN, Violation.Kind.LOST, setup("abca", three, 1, 2), "FENCE 2 0, METADATA 1 0, METADATA 3 0, METADATA 4 0, REASSIGN 1 1, " +
                "METADATA 1 0, METADATA 3 0, METADATA 4 0, PRODUCE 1 0, FETCH 3 1, FETCH 3 1, FETCH 4 1, FETCH 4 1, DELIVER 1 0, DELIVER 1 0, METADATA 1 0, " +
                "METADATA 4 0, RACK_POWER_CUT 1 0"),
            // Broker 4, which is being added, is the only one in sync in another rack
            new KnownHistory(Rule.CANCELLED_SPAN, Violation.Kind.LOST, setup("abacc", three, 1, 2), "FENCE 2 0, METADATA 1 0, METADATA 3 0, METADATA 4 0, METADATA 5 0, " +
                "REASSIGN 1 3, METADATA 1 0, METADATA 3 0, METADATA 4 0, METADATA 5 0, FETCH 4 1, FETCH 4 1, DELIVER 1 0, DELIVER 1 0, METADATA 1 0, METADATA 4 0, " +
                "PRODUCE 1 0, FETCH 3 1, FETCH 3 1, FETCH 4 1, FETCH 4 1, CANCEL 1 0, METADATA 1 0, METADATA 3 0, RACK_POWER_CUT 1 0"),
            // One replica is enough from then on, and the high watermark moves without broker 3
            new KnownHistory(Rule.ELIGIBLE_SETTINGS, Violation.Kind.LOST, setup("abc", three, 2, 1), "FENCE 2 0, FENCE 3 0, METADATA 1 0, HEARTBEAT 3 0, MIN_REPLICAS 1 0, " +
                "PRODUCE 1 0, FENCE 1 0, METADATA 3 0"),
            new KnownHistory(Rule.ELECTED_ALONE, Violation.Kind.LOST, setup("abc", three, 2, 1), LOWERED_IN_AN_OUTAGE + ACKNOWLEDGED_BY_1_THEN_3_LEADS),
            new KnownHistory(Rule.LOWER_REFUSED, Violation.Kind.LOST, setup("abc", three, 2, 1), LOWERED_IN_AN_OUTAGE + "LOWER 1 0, " + ACKNOWLEDGED_BY_1_THEN_3_LEADS),
            // Broker 2 is in the ISR by the metadata of before, and in rack b by that of after
            new KnownHistory(Rule.RACKS_IN_CHANGE, Violation.Kind.READ_THEN_LOST, setup("aab", three, 1, 2), "FENCE 3 0, METADATA 1 0, METADATA 2 0, HEARTBEAT 3 0, " +
                "PRODUCE_ONE 1 0, FETCH 2 1, FETCH 2 1, RELABEL 2 1, HALF_METADATA 1 0, PRODUCE_ONE 1 0, CONSUME 1 0, FENCE 1 0, METADATA 3 0"),
            new KnownHistory(Rule.RACK_REQUIRED, Violation.Kind.LOST, setup("aba", three, 1, 2), UNLABELLED_3 + LOST_TOGETHER),
            new KnownHistory(Rule.RACKS_CHECKED, Violation.Kind.LOST, setup("aba", three, 1, 1), UNLABELLED_3 + "MIN_RACKS 1 1, " + LOST_TOGETHER),
            // Broker 2 is slow, and brokers 1 and 3 are proposed, when brokers 1 and 2 get another record
            new KnownHistory(Rule.QUORUM_PROPOSED, Violation.Kind.NOT_ELECTABLE, electable(three), SET_1_2 + ALL_FETCH + "PRODUCE_QUORUM 1 0, TIME 1 0, " +
                "FETCH 3 1, TIME 1 0, FETCH 3 1, PRODUCE_QUORUM 1 0, FETCH 2 1, FETCH 2 1, DELIVER 1 0"),
            // The set is being emptied when its members get another record
            new KnownHistory(Rule.QUORUM_EMPTYING, Violation.Kind.LOST, electable(List.of(1, 3, 2)), SET_1_2 + ALL_FETCH + "TIME 1 7999, TIME 1 7999, FETCH 3 1, " +
                "FETCH 2 1, PRODUCE_QUORUM 1 0, FETCH 2 1, FETCH 2 1, DELIVER 1 0, FENCE 1 0, METADATA 3 0"),
            new KnownHistory(Rule.EMPTIED_DRAINED, Violation.Kind.LOST, electable(List.of(1, 3, 2)), TWO_ACKNOWLEDGED_BY_1_2 + "TIME 1 7999, TIME 1 7999, " +
                "FETCH 2 1, DELIVER 1 0, FENCE 1 0, METADATA 3 0"),
            // Broker 2 has left the ISR, and is electable until the controller has another set
            new KnownHistory(Rule.HIGH_WATERMARK_MEMBERS, Violation.Kind.NOT_ELECTABLE, electable(three), SET_1_2 + ALL_FETCH + "FENCE 2 0, METADATA 1 0, " +
                "PRODUCE 1 0, FETCH 3 1, FETCH 3 1"),
            // Broker 3 takes the place of broker 2 with one of two records that were acknowledged, by this leader, then by one before
            new KnownHistory(Rule.MEMBER_ACKNOWLEDGED, Violation.Kind.NOT_ELECTABLE, electable(three), TWO_ACKNOWLEDGED_BY_1_2 + "FENCE 2 0, METADATA 1 0, " +
                "TIME 1 0, FETCH 3 0, DELIVER 1 0"),
            new KnownHistory(Rule.MEMBER_EPOCH_START, Violation.Kind.NOT_ELECTABLE, electable(three), TWO_ACKNOWLEDGED_BY_1_2 + "FENCE 1 0, METADATA 2 0, " +
                "METADATA 3 0, PRODUCE_QUORUM 2 0, TIME 1 0, FETCH 3 0, DELIVER 1 0"),
            // The first set is proposed at level 2, and arrives at level 1
            new KnownHistory(Rule.SETS_REFUSED, Violation.Kind.NOT_ELECTABLE, electable(three), "FETCH 2 1, FETCH 3 1, PRODUCE_QUORUM 1 0, LOWER 1 0, DELIVER 1 0"),
            new KnownHistory(Rule.PLANNED_MEMBERS, Violation.Kind.LOST, electable(List.of(1, 3, 2)), TWO_ACKNOWLEDGED_BY_1_2 + "SHUTDOWN 1 0, METADATA 2 0, " +
                "METADATA 3 0"),
            // Broker 2 is removed, and broker 1 loses its power, who have acknowledged
            new KnownHistory(Rule.REASSIGNED_MEMBERS, Violation.Kind.NOT_WRITABLE, electable(three), TWO_ACKNOWLEDGED_BY_1_2 + "REASSIGN 1 8, POWER_CUT 1 0"));
    }

    static final List<KnownHistory> ALL = all();

    private static final List<List<Step>> STEPS = ALL.stream().map(known -> History.steps(known.steps)).toList();

    History history() {
        return new History(setup, History.steps(steps));
    }

    @Override
    public String toString() {
        return rule.name();
    }

    /**
     * The steps of one of them with the replicas of another cluster, mostly in their order: the first one is the preferred leader; then with
     * its other brokers. Some choices are others, the targets of reassignments always; some steps are omitted.
     */
    static List<Step> variant(Random random, Setup setup) {
        List<Integer> roles = new ArrayList<>(setup.replicas());
        if (random.nextInt(3) == 0)
            Collections.shuffle(roles, random);
        for (int id = 1; id <= setup.racks().size(); id++)
            if (!setup.replicas().contains(id))
                roles.add(id);
        int rate = rate(random);
        List<Step> found = new ArrayList<>();
        int known = random.nextInt(ALL.size());
        for (Step step : STEPS.get(known)) {
            int replica = ALL.get(known).setup.replicas().indexOf(step.broker());
            int role = replica < 0 ? step.broker() - 1 : replica;
            if (random.nextInt(rate) > 0 && role < roles.size())
                found.add(new Step(step.kind(), roles.get(role),
                    step.kind() == Step.Kind.REASSIGN || random.nextInt(rate) == 0 ? random.nextInt(1 << 20) : step.choice()));
        }
        return found;
    }

    /** Its steps in its own cluster. Some choices are others; some steps are omitted. */
    List<Step> varied(Random random) {
        int rate = rate(random);
        List<Step> found = new ArrayList<>();
        for (Step step : STEPS.get(ALL.indexOf(this)))
            if (random.nextInt(rate) > 0)
                found.add(random.nextInt(rate) > 0 ? step : new Step(step.kind(), step.broker(), random.nextInt(1 << 20)));
        return found;
    }

    /** One of so many steps differs. */
    private static int rate(Random random) {
        return List.of(1_000, 40, 12).get(random.nextInt(3));
    }
}
