package io.rackspan.load;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** What the outside asks for: pause and resume lines on stdin, a stop line, its end, a stop file, or SIGTERM. */
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
        Thread reader = new Thread(this::commands, "control");
        reader.setDaemon(true);
        reader.start();
    }

    private void commands() {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                switch (line.trim()) {
                    case "pause" -> paused = true;
                    case "resume" -> paused = false;
                    case "stop" -> stop("stop line");
                    default -> System.err.println("unknown control line: saw '" + line
                        + "'; write pause, resume or stop");
                }
            }
        } catch (IOException e) {
            System.err.println("control input broke: " + e + "; stopping as if it had ended");
        }
        // Whoever controlled this client is gone: do not go on producing for ever.
        stop("control input ended");
    }
}
