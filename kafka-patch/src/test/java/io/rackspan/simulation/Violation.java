// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

/** Something happened that never may. */
final class Violation extends RuntimeException {

    private static final long serialVersionUID = 1;

    /** The kinds of violations, so that a shortened history fails for the same reason. */
    enum Kind { LOST, READ_THEN_LOST, ACKNOWLEDGED_UNDER_MINIMUM, APPENDED_UNDER_MINIMUM, HIGH_WATERMARK_FELL, NOT_ANSWERED, NOT_WRITABLE, NOT_READABLE, NOT_IN_FORCE, NOT_IN_LEDGER, LEDGER_UNSETTLED, NOT_ELECTABLE, FAILED }

    final Kind kind;

    Violation(Kind kind, String text) {
        this(kind, text, null);
    }

    Violation(Kind kind, String text, Throwable cause) {
        super(kind + ": " + text, cause);
        this.kind = kind;
    }
}
