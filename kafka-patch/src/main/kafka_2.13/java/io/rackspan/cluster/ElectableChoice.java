// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import io.rackspan.protocol.Electable;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntPredicate;
import java.util.function.IntToDoubleFunction;
import java.util.function.Predicate;

/**
 * The choice of an electable set: the smallest one that suffices, of the fastest followers. A present set that may stay is replaced only by one
 * with fewer replicas that a reassignment removes, by a smaller one, by one that is clearly faster, or by one with the preferred leader that is as fast.
 *
 * @param leader    this broker, a member of each set
 * @param present   the committed set
 * @param isr       the replicas that may be members
 * @param preferred the preferred leader: of sets that are about as fast, one with it is chosen, so that it may be elected
 * @param removing  the replicas that a reassignment removes
 * @param complete  true for followers that have all that is acknowledged
 * @param suffices  true for sets with enough replicas in enough racks
 * @param delayMs   how long a follower takes
 */
record ElectableChoice(int leader, Electable present, Collection<Integer> isr, int preferred, Collection<Integer> removing, IntPredicate complete,
                       Predicate<Collection<Integer>> suffices, IntToDoubleFunction delayMs) {

    /** Of more followers only the fastest are compared, unless they do not suffice. */
    private static final int MOST = 12;

    /** A set is replaced for its speed if it takes more than twice as long as another and this many ms. */
    private static final double CLEARLY_MS = 5;

    /** And for one with the preferred leader that takes no longer than that. It is far from what would bring the other back. */
    private static final double NEARLY_MS = CLEARLY_MS / 2;

    /** And not more often than once in this many ms. */
    private static final long SWAP_MS = 250;

    private record Rated(List<Integer> members, int leaving, double costMs, boolean hasPreferred) {

        private boolean isBetterThan(Rated other) {
            if (other == null)
                return true;
            if (leaving != other.leaving)
                return leaving < other.leaving;
            if (members.size() != other.members.size())
                return members.size() < other.members.size();
            if (hasPreferred != other.hasPreferred)
                return hasPreferred ? !other.isClearlyFasterThan(this) : isClearlyFasterThan(other);
            return costMs < other.costMs;
        }

        private boolean isClearlyFasterThan(Rated other) {
            return other.costMs > 2 * costMs + CLEARLY_MS;
        }
    }

    /** Asks for the delay of each follower once: it is compared many times, and may change. */
    ElectableChoice {
        Map<Integer, Double> known = new HashMap<>();
        IntToDoubleFunction asked = delayMs;
        delayMs = follower -> known.computeIfAbsent(follower, asked::applyAsDouble);
    }

    /** The set to propose; null if the present one stays, or no other is possible. */
    Electable best(long presentForMs) {
        List<Integer> followers = followers();
        Rated best = null;
        for (int chosen = 0; chosen < 1 << followers.size(); chosen++) {
            List<Integer> members = new ArrayList<>(List.of(leader));
            for (int i = 0; i < followers.size(); i++)
                if ((chosen >> i & 1) != 0)
                    members.add(followers.get(i));
            if (suffices.test(members)) {
                Rated rated = rated(members);
                if (rated.isBetterThan(best))
                    best = rated;
            }
        }
        if (best == null)
            best = reduced();
        if (best == null)
            return null;
        Electable found = Electable.of(best.members);
        return found.equals(present) || mayStay() && !isWorthIt(best, rated(present.members()), presentForMs) ? null : found;
    }

    /** A set of more followers than are compared, without those that are not needed, the slowest first; null if all together do not suffice. */
    private Rated reduced() {
        List<Integer> members = new ArrayList<>(candidates());
        members.sort(Comparator.comparing((Integer follower) -> !removing.contains(follower)).thenComparing(follower -> -delayMs.applyAsDouble(follower)));
        List<Integer> kept = new ArrayList<>(members);
        kept.add(leader);
        if (!suffices.test(kept))
            return null;
        for (Integer follower : members) {
            kept.remove(follower);
            if (!suffices.test(kept))
                kept.add(follower);
        }
        return rated(kept);
    }

    private List<Integer> followers() {
        List<Integer> found = candidates();
        if (found.size() <= MOST)
            return found;
        found.sort(Comparator.comparingDouble(delayMs::applyAsDouble));
        return found.subList(0, MOST);
    }

    private List<Integer> candidates() {
        List<Integer> found = new ArrayList<>();
        for (int replica : isr)
            if (replica != leader && (present.mayLead(replica) || complete.test(replica)))
                found.add(replica);
        // Those of a set in the order of their ids: what is chosen does not depend on the order of the ISR
        found.sort(Comparator.naturalOrder());
        return found;
    }

    /** True if the present set need not be replaced. */
    boolean mayStay() {
        return present.mayLead(leader) && present.unclean().isEmpty() && isr.containsAll(present.members()) && suffices.test(present.members());
    }

    private static boolean isWorthIt(Rated best, Rated now, long presentForMs) {
        if (best.leaving != now.leaving || best.members.size() != now.members.size())
            return best.leaving < now.leaving || best.leaving == now.leaving && best.members.size() < now.members.size();
        boolean isPreferred = best.hasPreferred && !now.hasPreferred && best.costMs <= now.costMs + NEARLY_MS;
        return presentForMs >= SWAP_MS && (isPreferred || best.isClearlyFasterThan(now));
    }

    private Rated rated(List<Integer> members) {
        int leaving = 0;
        double cost = 0;
        for (int member : members)
            if (member != leader) {
                leaving += removing.contains(member) ? 1 : 0;
                cost = Math.max(cost, delayMs.applyAsDouble(member));
            }
        return new Rated(members, leaving, cost, members.contains(preferred));
    }
}
