// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.MockTime;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Markers of transactions that leaders refuse; a marker is the id of its producer here. */
final class RefusedMarkersTest {

    private final MockTime time = new MockTime();
    private final Semaphore wakeups = new Semaphore(0);
    private final RefusedMarkers markers = new RefusedMarkers(time, wakeups::release);
    private final BlockingQueue<Long> queue = new LinkedBlockingQueue<>(List.of(1L, 2L, 3L));

    private List<Long> drained() {
        List<Long> drained = new ArrayList<>();
        markers.drain(queue, drained, Long::longValue);
        return drained;
    }

    @ParameterizedTest
    @EnumSource(names = {"NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "NOT_ENOUGH_RACKS", "NOT_ENOUGH_RACKS_AFTER_APPEND"})
    void aRefusedMarkerWaitsAndTheOthersDoNot(Errors error) {
        markers.failed(2, error);
        assertEquals(List.of(1L, 3L), drained());
        assertEquals(List.of(2L), List.copyOf(queue));
        time.sleep(RefusedMarkers.PAUSE_MS - 1);
        assertEquals(List.of(), drained());
        time.sleep(1);
        assertEquals(List.of(2L), drained());
    }

    @ParameterizedTest
    @EnumSource(names = {"NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION", "REQUEST_TIMED_OUT", "KAFKA_STORAGE_ERROR"})
    void aMarkerThatFailsForAnotherReasonIsSentAtOnce(Errors error) throws Exception {
        markers.failed(2, error);
        assertEquals(List.of(1L, 2L, 3L), drained());
        assertFalse(wakeups.tryAcquire(2 * RefusedMarkers.PAUSE_MS, TimeUnit.MILLISECONDS), "nothing waits");
    }

    @Test
    void theSenderIsWokenOnceForEachPause() throws Exception {
        for (int partition = 0; partition < 10; partition++) {
            markers.failed(2, Errors.NOT_ENOUGH_RACKS);
            time.sleep(1);
        }
        assertTrue(wakeups.tryAcquire(30, TimeUnit.SECONDS), "the sender sleeps on");
        time.sleep(RefusedMarkers.PAUSE_MS - 10);
        assertEquals(List.of(1L, 2L, 3L), drained(), "a second refusal in the pause does not make it longer than the sender waits");
        markers.failed(2, Errors.NOT_ENOUGH_RACKS);
        assertTrue(wakeups.tryAcquire(30, TimeUnit.SECONDS), "the sender sleeps on");
        assertEquals(0, wakeups.availablePermits());
    }
}
