// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Predicate;

/**
 * Requests from outside: pause and resume lines, a stop line, the end of the lines, a stop file, or SIGTERM. Other lines go
 * to a predicate of the run.
 */
final class Control {

    private final Caller caller;
    private final Thread run = Thread.currentThread();
    private volatile boolean abandoned;
    private volatile boolean stopped;
    private volatile boolean paused;
    private volatile String reason = "duration";

    /** Made by the thread that runs. */
    Control(Caller caller, boolean startPaused) {
        this.caller = caller;
        paused = startPaused;
    }

    boolean stopped() {
        return stopped;
    }

    /** True if nobody waits for the run any more: it ends at once, as if it had been killed. */
    boolean abandoned() {
        return abandoned;
    }

    boolean paused() {
        return paused && !stopped;
    }

    String reason() {
        return reason;
    }

    void stop(String why) {
        if (!stopped) {
            reason = why;
            stopped = true;
        }
    }

    void checkStopFile(Path stopFile) {
        if (stopFile != null && Files.exists(stopFile)) {
            stop("stop file");
        }
    }

    void readLines() {
        readLines(line -> false);
    }

    /** Reads the caller's lines; {@code others} handles any other line and returns whether it knew it. */
    void readLines(Predicate<String> others) {
        Thread reader = new Thread(() -> commands(others), "control");
        reader.setDaemon(true);
        reader.start();
    }

    private void commands(Predicate<String> others) {
        try {
            for (String line = caller.in().readLine(); line != null; line = caller.in().readLine()) {
                switch (line.trim()) {
                    case "pause" -> paused = true;
                    case "resume" -> paused = false;
                    case "stop" -> stop("stop line");
                    default -> {
                        if (!others.test(line.trim())) {
                            System.err.println("unknown control line: observed '" + line
                                + "'; write pause, resume or stop, and where records are sent also rate N; begin NAME"
                                + " and end where they are counted");
                        }
                    }
                }
            }
        } catch (IOException e) {
            if (!caller.hasEnded()) {
                System.err.println("control input broke: " + e + "; stopping as if it had ended");
            }
        }
        // The controlling process is gone: do not continue for ever.
        abandoned = caller.connected() && !caller.hasEnded();
        stop("control input ended");
        if (abandoned) {
            run.interrupt();
        }
    }
}
