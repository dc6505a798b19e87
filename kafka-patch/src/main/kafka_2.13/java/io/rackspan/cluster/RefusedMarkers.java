// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.Time;

import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;

/**
 * Transaction markers that a leader refuses because too few replicas or racks are in sync. The transaction coordinator of the base sends
 * them again at once, thousands of times a second for as long as the outage lasts, and both brokers log each time. They wait here for a
 * moment. Markers that fail for another reason, such as a leader that has moved, are sent again at once as before.
 */
public final class RefusedMarkers {

    /** How long a refused marker waits, in milliseconds: the default of retry.backoff.ms. */
    static final long PAUSE_MS = 100;

    private final Time time;
    private final Runnable wakeup;
    private final Map<Long, Long> pausedUntil = new ConcurrentHashMap<>();

    /** @param wakeup wakes the thread that drains the queues */
    public RefusedMarkers(Time time, Runnable wakeup) {
        this.time = time;
        this.wakeup = wakeup;
    }

    /** A marker of this producer failed with a retriable error. */
    public void failed(long producerId, Errors error) {
        if (!isRefusal(error))
            return;
        long now = time.hiResClockMs();
        pausedUntil.values().removeIf(until -> until <= now);
        if (pausedUntil.putIfAbsent(producerId, now + PAUSE_MS) == null)
            CompletableFuture.delayedExecutor(PAUSE_MS + 1, TimeUnit.MILLISECONDS).execute(wakeup);
    }

    private static boolean isRefusal(Errors error) {
        return switch (error) {
            case NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS_AFTER_APPEND, NOT_ENOUGH_RACKS, NOT_ENOUGH_RACKS_AFTER_APPEND -> true;
            default -> false;
        };
    }

    /** Moves the markers of a queue that do not wait to a list, in their order. */
    public <M> void drain(BlockingQueue<M> queue, List<M> markers, ToLongFunction<M> producerId) {
        if (pausedUntil.isEmpty())
            queue.drainTo(markers);
        else
            moveDue(queue, markers, producerId);
    }

    private <M> void moveDue(Queue<M> queue, List<M> markers, ToLongFunction<M> producerId) {
        long now = time.hiResClockMs();
        for (Iterator<M> all = queue.iterator(); all.hasNext(); ) {
            M marker = all.next();
            if (pausedUntil.getOrDefault(producerId.applyAsLong(marker), now) <= now) {
                all.remove();
                markers.add(marker);
            }
        }
    }
}
