// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.server.util.MockTime;
import org.apache.kafka.server.util.Scheduler;

import io.rackspan.metadata.RackRules;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import static io.rackspan.cluster.ElectableWatch.PERIOD_MS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyLong;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.Mockito.RETURNS_DEEP_STUBS;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

/** When partitions are checked, and when nothing is scheduled. */
final class ElectableWatchTest {

    private static final TopicPartition A = new TopicPartition("orders", 0);
    private static final TopicPartition B = new TopicPartition("orders", 1);

    private final MockTime time = new MockTime();
    private final Set<TopicPartition> active = new HashSet<>(Set.of(A, B));
    private final List<TopicPartition> checked = new ArrayList<>();
    private Runnable during = () -> { };
    private int pending = 0;
    private final Scheduler scheduler = mock(Scheduler.class);
    private final ElectableWatch watch = new ElectableWatch(scheduler, this::check);

    @BeforeEach
    public void countWhatIsScheduled() {
        when(scheduler.scheduleOnce(eq("electable-set"), any(), anyLong())).thenAnswer(call -> {
            pending++;
            return time.scheduler.scheduleOnce("electable-set", () -> {
                pending--;
                call.<Runnable>getArgument(1).run();
            }, call.<Long>getArgument(2));
        });
    }

    private boolean check(TopicPartition partition) {
        checked.add(partition);
        boolean kept = active.contains(partition);
        during.run();
        return kept;
    }

    private void begin(int level, TopicPartition... partitions) {
        QuorumWaiters waiters = new QuorumWaiters();
        for (TopicPartition partition : partitions)
            waiters.add(partition, mock(AckQuorum.class, RETURNS_DEEP_STUBS));
        RackRules rules = mock(RackRules.class);
        when(rules.level()).thenReturn((short) level);
        watch.begin(waiters, rules);
    }

    private List<TopicPartition> checkedIn(long ms) {
        checked.clear();
        time.sleep(ms);
        return List.copyOf(checked);
    }

    @Test
    public void testNothingIsScheduledWithoutAPartition() {
        begin(2);
        assertEquals(0, pending);
    }

    @Test
    public void testNothingIsScheduledBelowLevel2() {
        begin(0, A);
        begin(1, A);
        watch.begin(new QuorumWaiters(), null);
        assertEquals(0, pending);
    }

    @Test
    public void testActivePartitionsAreCheckedEachPeriod() {
        begin(2, A, B);
        begin(2, A);
        assertEquals(1, pending);
        assertEquals(List.of(), checkedIn(PERIOD_MS - 1));
        assertEquals(Set.of(A, B), Set.copyOf(checkedIn(1)));
        active.remove(B);
        assertEquals(Set.of(A, B), Set.copyOf(checkedIn(PERIOD_MS)));
        assertEquals(List.of(A), checkedIn(PERIOD_MS));
    }

    @Test
    public void testNothingIsScheduledAfterTheLastPartitionUntilTheNextRequest() {
        begin(2, A);
        active.clear();
        assertEquals(List.of(A), checkedIn(PERIOD_MS));
        assertEquals(0, pending);
        active.add(A);
        begin(2, A);
        assertEquals(List.of(A), checkedIn(PERIOD_MS));
        assertEquals(1, pending);
    }

    @Test
    public void testAPartitionWhoseRequestBeginsDuringItsCheckIsCheckedAgain() {
        begin(2, A);
        active.clear();
        during = () -> begin(2, A);
        assertEquals(List.of(A), checkedIn(PERIOD_MS));
        assertEquals(1, pending);
        assertEquals(List.of(A), checkedIn(PERIOD_MS));
    }

    @Test
    public void testAPartitionWhoseCheckFailsIsCheckedAgain() {
        begin(2, A);
        during = () -> {
            throw new IllegalStateException("storage");
        };
        try {
            time.sleep(PERIOD_MS);
        } catch (IllegalStateException e) {
            // as the broker's scheduler, which logs it
        }
        during = () -> { };
        assertEquals(List.of(A), checkedIn(PERIOD_MS));
    }
}
