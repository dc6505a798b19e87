package io.rackspan.load;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Predicate;

/**
 * Requests from outside: pause and resume lines on stdin, a stop line, the end of stdin, a stop file, or SIGTERM. Other lines
 * go to the caller's predicate.
 */
final class Control {

    private volatile boolean stopped;
    private volatile boolean paused;
    private volatile String reason = "duration";

    Control(boolean startPaused) {
        paused = startPaused;
    }

    boolean stopped() {
        return stopped;
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

    void readStdin() {
        readStdin(line -> false);
    }

    /** Reads stdin; {@code others} handles any other line and returns whether it knew it. */
    void readStdin(Predicate<String> others) {
        Thread reader = new Thread(() -> commands(others), "control");
        reader.setDaemon(true);
        reader.start();
    }

    private void commands(Predicate<String> others) {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
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
            System.err.println("control input broke: " + e + "; stopping as if it had ended");
        }
        // The controlling process is gone: do not continue for ever.
        stop("control input ended");
    }
}
