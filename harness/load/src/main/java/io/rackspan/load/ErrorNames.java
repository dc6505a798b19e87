// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TransactionAbortedException;
import org.apache.kafka.common.protocol.Errors;

/** Names of the results of a send. They are the broker's, so that unpatched and patched clients need no list here. */
final class ErrorNames {

    static final String OK = "OK";
    /** A timeout of the client (batch expired, no metadata, no buffer), not the broker's REQUEST_TIMED_OUT. */
    static final String TIMEOUT = "TIMEOUT";
    /** The client dropped the record as it stopped; whether a broker has it is unknown. */
    static final String CLIENT_CLOSED = "CLIENT_CLOSED";
    /** The client dropped the record as its transaction was aborted. */
    static final String TRANSACTION_ABORTED = "TRANSACTION_ABORTED";

    private ErrorNames() {
    }

    static String of(Throwable error, boolean closing) {
        if (error == null) {
            return OK;
        }
        if (error instanceof TimeoutException) {
            return Errors.REQUEST_TIMED_OUT.message().equals(error.getMessage())
                ? Errors.REQUEST_TIMED_OUT.name() : TIMEOUT;
        }
        if (error instanceof TransactionAbortedException) {
            return TRANSACTION_ABORTED;
        }
        if (closing && !(error instanceof ApiException)) {
            return CLIENT_CLOSED;
        }
        return Errors.forException(error).name();
    }

    static String cause(Throwable error) {
        Throwable cause = error == null ? null : error.getCause();
        return cause == null ? "" : of(cause, false);
    }
}
