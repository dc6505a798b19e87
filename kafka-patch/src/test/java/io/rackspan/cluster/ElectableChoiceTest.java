// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import io.rackspan.protocol.Electable;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Which electable set a leader chooses: broker 1 leads, odd brokers are in one rack and even ones in another. */
final class ElectableChoiceTest {

    private static final long LONG = 60_000;

    private Electable present = Electable.NONE;
    private List<Integer> isr = List.of(1, 2, 3, 4);
    private int preferred = 1;
    private Set<Integer> removing = Set.of();
    private Set<Integer> incomplete = Set.of();
    private Predicate<Collection<Integer>> suffices = set -> set.size() >= 2;
    private final Map<Integer, Double> delays = new HashMap<>();

    private static Electable set(Integer... members) {
        return Electable.of(List.of(members));
    }

    private static boolean inTwoRacks(Collection<Integer> set) {
        return set.size() >= 2 && set.stream().map(broker -> broker % 2).distinct().count() == 2;
    }

    private Electable best(long presentForMs) {
        return new ElectableChoice(1, present, isr, preferred, removing, broker -> !incomplete.contains(broker), suffices,
            broker -> delays.getOrDefault(broker, 0.0)).best(presentForMs);
    }

    @Test
    void theFirstSetIsTheSmallestOfTheFastest() {
        assertEquals(set(1, 2), best(0));
        delays.putAll(Map.of(2, 10.0, 3, 1.0, 4, 5.0));
        assertEquals(set(1, 3), best(0));
        suffices = ElectableChoiceTest::inTwoRacks;
        assertEquals(set(1, 4), best(0));
        suffices = set -> set.size() >= 3;
        assertEquals(set(1, 3, 4), best(0));
        suffices = set -> set.size() >= 5;
        assertNull(best(0));
    }

    @Test
    void theOrderOfTheIsrDoesNotMatter() {
        isr = List.of(4, 3, 1, 2);
        assertEquals(set(1, 2), best(0));
    }

    @Test
    void aJoinerHasEverythingAndAMemberNeedNotReport() {
        incomplete = Set.of(2, 3);
        assertEquals(set(1, 4), best(0));
        present = set(1, 2);
        assertNull(best(LONG), "it is a member");
        present = set(1, 2).withUnclean(2);
        assertEquals(set(1, 4), best(0), "it joins anew like anyone else");
        incomplete = Set.of(2, 3, 4);
        assertNull(best(0));
        incomplete = Set.of();
        assertEquals(set(1, 2), best(0), "without the mark");
    }

    @Test
    void aMemberOutsideTheIsrIsReplacedAtOnce() {
        present = set(1, 2);
        isr = List.of(1, 3, 4);
        assertEquals(set(1, 3), best(0));
        isr = List.of(1);
        assertNull(best(0));
    }

    @Test
    void aSetThatDoesNotSufficeAnyMoreIsReplacedAtOnce() {
        present = set(1, 3);
        suffices = ElectableChoiceTest::inTwoRacks;
        assertEquals(set(1, 2), best(0));
    }

    @Test
    void aSmallerSetIsTakenAtOnce() {
        present = set(1, 2, 3);
        delays.put(2, 10.0);
        assertEquals(set(1, 3), best(0));
    }

    @Test
    void replicasThatLeaveAreAvoidedAtOnceAtTheCostOfSpeed() {
        present = set(1, 2);
        removing = Set.of(2);
        delays.putAll(Map.of(3, 500.0, 4, 600.0));
        assertEquals(set(1, 3), best(0));
        removing = Set.of(2, 3, 4);
        assertNull(best(LONG), "as many would leave");
    }

    @Test
    void aSetIsReplacedForItsSpeedOnlyWhenItIsClearlySlower() {
        present = set(1, 2);
        delays.putAll(Map.of(2, 25.0, 3, 10.0, 4, 99.0));
        assertNull(best(LONG), "twice as long and 5 ms is not more than that");
        delays.put(2, 25.1);
        assertEquals(set(1, 3), best(LONG));
        assertNull(best(249));
        assertEquals(set(1, 3), best(250));
    }

    @Test
    void aNearTieIsThePreferredLeaders() {
        preferred = 4;
        delays.putAll(Map.of(2, 1.0, 3, 2.0, 4, 6.0));
        assertEquals(set(1, 4), best(0));
        delays.put(4, 7.5);
        assertEquals(set(1, 2), best(0));
    }

    @Test
    void thePreferredLeaderComesBackWhenItIsAsFast() {
        preferred = 4;
        present = set(1, 2);
        delays.putAll(Map.of(2, 3.0, 3, 3.0, 4, 5.0));
        assertEquals(set(1, 4), best(250));
        assertNull(best(249));
        delays.put(4, 6.0);
        assertNull(best(LONG), "a little slower is no reason to swap");
        present = set(1, 4);
        assertNull(best(LONG), "nor one to swap back");
    }

    @Test
    void withDelaysThatVaryALittleNothingIsSwappedToAndFro() {
        preferred = 4;
        present = set(1, 2);
        Random random = new Random(1);
        int swaps = 0;
        for (int i = 0; i < 1_000; i++) {
            for (int broker = 2; broker <= 4; broker++)
                delays.put(broker, 6 + 2 * random.nextDouble());
            Electable next = best(LONG);
            if (next != null) {
                present = next;
                swaps++;
            }
        }
        assertEquals(set(1, 4), present);
        assertEquals(1, swaps);
    }

    @Test
    void ofMoreReplicasThanAreComparedTheFastestAre() {
        isr = IntStream.rangeClosed(1, 40).boxed().toList();
        for (int broker = 2; broker <= 40; broker++)
            delays.put(broker, 100.0 - broker);
        assertEquals(set(1, 40), best(0));
    }

    /** With more of them than are compared, what is chosen must still be possible: racks, members that stay. */
    @Test
    void amongManyReplicasASetIsFoundWhereverThereIsOne() {
        isr = IntStream.rangeClosed(1, 40).boxed().toList();
        for (int broker = 2; broker <= 40; broker++)
            delays.put(broker, broker % 2 == 1 ? 1.0 : 50.0);
        suffices = ElectableChoiceTest::inTwoRacks;
        assertEquals(set(1, 40), best(0), "the other rack is the slow one");
    }

    @Test
    void eachDelayIsReadOnce() {
        List<Integer> asked = new ArrayList<>();
        new ElectableChoice(1, present, isr, preferred, removing, broker -> true, suffices, broker -> {
            asked.add(broker);
            return broker;
        }).best(LONG);
        assertEquals(3, asked.size(), asked.toString());
    }

    /** Any situation: what is proposed has the leader, is of the ISR, suffices, and whoever joins is complete; none is proposed only if none may be. */
    @Test
    void whatIsProposedIsAllowedInAnySituation() {
        for (int seed = 0; seed < 3_000; seed++) {
            Random random = new Random(seed);
            isr = IntStream.rangeClosed(1, 6).filter(broker -> broker == 1 || random.nextInt(4) > 0).boxed().toList();
            present = Electable.of(IntStream.rangeClosed(1, 6).filter(broker -> broker == 1 || random.nextInt(3) == 0).boxed().toList());
            for (int member : List.copyOf(present.members()))
                if (member != 1 && random.nextInt(5) == 0)
                    present = present.withUnclean(member);
            incomplete = some(random);
            removing = some(random);
            preferred = 1 + random.nextInt(6);
            int size = 1 + random.nextInt(4);
            suffices = random.nextBoolean() ? set -> set.size() >= size : set -> set.size() >= size && inTwoRacks(set);
            for (int broker = 2; broker <= 6; broker++)
                delays.put(broker, random.nextDouble() * 40);
            Electable proposed = best(random.nextInt(500));
            Set<Integer> allowed = isr.stream().filter(broker -> broker == 1 || present.mayLead(broker) || !incomplete.contains(broker)).collect(Collectors.toSet());
            if (proposed != null) {
                assertTrue(proposed.mayLead(1) && allowed.containsAll(proposed.members()) && suffices.test(proposed.members()) && proposed.unclean().isEmpty(), "seed " + seed);
            } else {
                boolean mayStay = present.unclean().isEmpty() && isr.containsAll(present.members()) && suffices.test(present.members());
                assertTrue(mayStay || !suffices.test(allowed), "seed " + seed);
            }
        }
    }

    private static Set<Integer> some(Random random) {
        Set<Integer> some = new HashSet<>();
        for (int broker = 2; broker <= 6; broker++)
            if (random.nextInt(3) == 0)
                some.add(broker);
        return some;
    }
}
