// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.errors.TimeoutException;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;

/**
 * Transactions of a producing run, one after another, each of a number of records; every so many are aborted. A status line
 * says of each which records it has and what its end was: UNKNOWN if the commit or abort had no answer.
 */
final class Transactions implements Producers {

    private static final String COMMITTED = "COMMITTED";
    private static final String ABORTED = "ABORTED";
    private static final String UNKNOWN = "UNKNOWN";
    private static final long RETRY_NS = 50_000_000;
    /** A commit or abort that has had no answer for so long is given up; its end is not known then. */
    private static final long PATIENCE_NS = 180_000_000_000L;

    private final ProduceSettings settings;
    private final Caller caller;
    private final Control control;
    private volatile KafkaProducer<byte[], byte[]> producer;
    private boolean ready;
    private boolean closed;
    private long first = -1;
    private long last = -1;
    private long ended;
    private long until = Long.MAX_VALUE;

    Transactions(ProduceSettings settings, Caller caller, Control control) {
        this.settings = settings;
        this.caller = caller;
        this.control = control;
        this.producer = new KafkaProducer<>(properties());
    }

    /** The transactional id is the producer's name: a new producer ends what one before it left open. */
    private Properties properties() {
        Properties own = new Properties();
        own.putAll(settings.kafka());
        own.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, settings.producer());
        return own;
    }

    @Override
    public List<KafkaProducer<byte[], byte[]>> all() {
        return List.of(producer);
    }

    /** With a transaction open. */
    @Override
    public KafkaProducer<byte[], byte[]> of(long seq) {
        if (first < 0) {
            if (!begun()) {
                return null;
            }
            first = seq;
        }
        return producer;
    }

    private boolean begun() {
        ready = ready || initialized();
        while (ready) {
            try {
                producer.beginTransaction();
                return true;
            } catch (RuntimeException e) {
                System.err.println("no transaction begins: " + e + "; continuing with a new producer");
                ready = renewed();
            }
        }
        return false;
    }

    /** Ends the transaction if it has all its records. */
    @Override
    public void sent(long seq) {
        last = seq;
        if (seq - first + 1 >= settings.transactionRecords()) {
            end();
        }
    }

    @Override
    public void paused() {
        if (first >= 0) {
            end();
        }
    }

    /** Ends the transaction that is open, then waits until all markers are written. */
    @Override
    public void close(Duration timeout) {
        try {
            if (!closed && !timeout.isZero()) {
                until = Math.min(until, System.nanoTime() + timeout.toNanos());
                paused();
                // The coordinator answers before it has written markers, and makes no producer ready until it has.
                if (!renewed()) {
                    System.err.println("the markers of the last transaction may still be written: no coordinator answered"
                        + " within " + timeout.toSeconds() + " s; check the cluster before reading the logs");
                }
            }
        } finally {
            closed = true;
            producer.close(Duration.ZERO);
        }
    }

    /** After a failure: nobody is waited for. */
    @Override
    public void close() {
        close(Duration.ZERO);
    }

    private void end() {
        ended++;
        String outcome = UNKNOWN;
        boolean commit = settings.abortEvery() == 0 || ended % settings.abortEvery() != 0;
        try {
            if (commit && answered(producer::commitTransaction)) {
                outcome = COMMITTED;
            } else if (!commit) {
                producer.flush(); // or its last records would never be sent
            }
        } catch (RuntimeException e) {
            System.err.println("records " + first + " to " + last + " are not committed: " + e + "; aborting them");
            commit = false;
        }
        try {
            if (!commit && answered(producer::abortTransaction)) {
                outcome = ABORTED;
            }
        } catch (RuntimeException e) {
            System.err.println("records " + first + " to " + last + " are not aborted: " + e
                + "; continuing with a new producer");
        }
        report(outcome);
        first = -1;
        if (outcome.equals(UNKNOWN)) {
            ready = renewed();
        }
    }

    /** Repeats a commit or abort that timed out, and so may have happened; false if it is not answered in time. */
    private boolean answered(Runnable end) {
        long givenUp = System.nanoTime() + PATIENCE_NS;
        while (!over() && System.nanoTime() < givenUp) {
            try {
                end.run();
                return true;
            } catch (TimeoutException e) {
                LockSupport.parkNanos(RETRY_NS);
            }
        }
        return false;
    }

    private void replace() {
        producer.close(Duration.ZERO);
        producer = new KafkaProducer<>(properties());
    }

    /** Replaces the producer; false if the run ends before the new one is ready. */
    private boolean renewed() {
        replace();
        return initialized();
    }

    private boolean initialized() {
        while (!over()) {
            try {
                producer.initTransactions();
                return true;
            } catch (TimeoutException e) {
                LockSupport.parkNanos(RETRY_NS);
            } catch (RuntimeException e) {
                System.err.println("no transactions: " + e + "; trying again with a new producer");
                replace();
                LockSupport.parkNanos(RETRY_NS);
            }
        }
        return false;
    }

    /** Nobody waits any more; a stop alone lets the last transaction end. */
    private boolean over() {
        if (until == Long.MAX_VALUE && control.stopped()) {
            until = System.nanoTime() + (long) (settings.closeSeconds() * 1e9);
        }
        return control.abandoned() || System.nanoTime() >= until;
    }

    private void report(String outcome) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("event", "transaction");
        line.put("topic", settings.topic());
        line.put("producer", settings.producer());
        line.put("first", first);
        line.put("last", last);
        line.put("outcome", outcome);
        caller.status(line);
    }
}
