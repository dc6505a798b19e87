// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import com.fasterxml.jackson.annotation.JsonValue;

import java.util.Locale;

/** The answer to a question about a partition. What could not be known is not a yes. */
enum Verdict {
    YES, UNKNOWN, NO;

    /** The worse of two answers. */
    Verdict and(Verdict other) {
        return compareTo(other) >= 0 ? this : other;
    }

    /** This answer if the other one is the same, else UNKNOWN: one of the two is true, and which one is not known. */
    Verdict or(Verdict other) {
        return this == other ? this : UNKNOWN;
    }

    static Verdict of(boolean answer) {
        return answer ? YES : NO;
    }

    /** 0 for yes, 1 for no, 3 for unknown. */
    int exitCode() {
        return switch (this) {
            case YES -> 0;
            case NO -> 1;
            case UNKNOWN -> 3;
        };
    }

    @JsonValue
    String word() {
        return name().toLowerCase(Locale.ROOT);
    }
}
