package io.rackspan.load;

import java.io.IOException;

/** Where a producing run keeps what became of its records. Times are monotonic ns. */
interface Recording extends AutoCloseable {

    /** How many records may be sent at most. */
    long capacity();

    /** Notes that the record is being sent; its answer goes to what is returned. */
    Answer sent(long seq, long dueNs, long sentNs);

    /** Everything is answered that will be; {@code records} were tried. */
    void finish(long records) throws IOException;

    @Override
    void close() throws IOException;

    /** Takes the answer of one record. */
    interface Answer {

        /** Whether it has come already. */
        boolean known();

        void done(long doneNs, int partition, long offset, String result, String cause);
    }
}
