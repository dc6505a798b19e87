// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Whoever controls one run: control lines come from there, status lines go there, one JSON object a line. */
final class Caller {

    private final BufferedReader in;
    private final Consumer<String> out;
    private final boolean connected;
    private final CountDownLatch ended = new CountDownLatch(1);

    private Caller(BufferedReader in, Consumer<String> out, boolean connected) {
        this.in = in;
        this.out = out;
        this.connected = connected;
    }

    /** The process that started this one, on stdin and stdout. */
    static Caller parent() {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        return new Caller(in, line -> {
            System.out.println(line);
            System.out.flush();
        }, false);
    }

    /** The other end of a connection. */
    static Caller connection(BufferedReader in, Consumer<String> out) {
        return new Caller(in, out, true);
    }

    BufferedReader in() {
        return in;
    }

    /** True if it always sends control lines, and its end is the end of the run. */
    boolean connected() {
        return connected;
    }

    synchronized void status(Map<String, ?> line) {
        out.accept(Json.text(line));
    }

    /** Notes that the run is over and all that is to be sent has been sent. */
    void ended() {
        ended.countDown();
    }

    boolean hasEnded() {
        return ended.getCount() == 0;
    }

    /** Waits for the end of the run; false if it takes longer. */
    boolean awaitEnd(long seconds) throws InterruptedException {
        return ended.await(seconds, TimeUnit.SECONDS);
    }
}
