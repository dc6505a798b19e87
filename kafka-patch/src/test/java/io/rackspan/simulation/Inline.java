// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import org.apache.kafka.server.util.Scheduler;

import java.util.concurrent.ScheduledFuture;

/** A scheduler that runs each task at once, in the thread of the simulation. */
final class Inline implements Scheduler {

    static final Scheduler SCHEDULER = new Inline();

    @Override
    public void startup() { }

    @Override
    public void shutdown() { }

    @Override
    public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
        task.run();
        return null;
    }

    @Override
    public void resizeThreadPool(int newSize) { }
}
