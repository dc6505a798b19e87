// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import java.io.IOException;

/** The results of a producing run's records. Times are monotonic ns. */
interface Recording extends AutoCloseable {

    /** The greatest number of records that may be sent. */
    long capacity();

    /** Notes that the record is being sent; its answer goes to what is returned. */
    Answer sent(long seq, long dueNs, long sentNs);

    /** Writes the end: no more answers will come; {@code records} were tried. */
    void finish(long records) throws IOException;

    @Override
    void close() throws IOException;

    /** Takes the answer of one record. */
    interface Answer {

        /** Returns whether the answer is known. */
        boolean known();

        void done(long doneNs, int partition, long offset, String result, String cause);
    }
}
