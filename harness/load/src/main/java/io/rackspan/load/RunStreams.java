// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/**
 * Standard output and error of a process with many runs: what a run's threads write, also what Kafka's client logs there,
 * goes to the run. Threads belong to the run whose thread started them.
 */
final class RunStreams extends OutputStream {

    private static final InheritableThreadLocal<RunStreams> OWN = new InheritableThreadLocal<>();

    private final Consumer<String> lines;
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();

    private RunStreams(Consumer<String> lines) {
        this.lines = lines;
    }

    /** Replaces the process' streams; threads of no run write to the present standard error. */
    static void install() {
        PrintStream process = System.err;
        PrintStream byThread = new PrintStream(new OutputStream() {
            @Override
            public void write(int b) {
                RunStreams own = OWN.get();
                if (own == null) {
                    process.write(b);
                } else {
                    own.write(b);
                }
            }
        }, true, StandardCharsets.UTF_8);
        System.setOut(byThread);
        System.setErr(byThread);
    }

    /** Sends what this thread and those that it starts from now on write to {@code lines}, line by line. */
    static void own(Consumer<String> lines) {
        OWN.set(new RunStreams(lines));
    }

    @Override
    public void write(int b) {
        if (b == '\n') {
            lines.accept(line.toString(StandardCharsets.UTF_8));
            line.reset();
        } else {
            line.write(b);
        }
    }
}
