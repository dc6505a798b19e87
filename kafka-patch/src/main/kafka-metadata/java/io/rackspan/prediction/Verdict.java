// SPDX-License-Identifier: Apache-2.0
package io.rackspan.prediction;

import java.util.Locale;

/** The answer to a question about a partition. What could not be known is not a yes. */
public enum Verdict {
    YES, UNKNOWN, NO;

    /** The worse of two answers. */
    public Verdict and(Verdict other) {
        return compareTo(other) >= 0 ? this : other;
    }

    /** This answer if the other one is the same, else UNKNOWN: one of the two is true, and which one is not known. */
    public Verdict or(Verdict other) {
        return this == other ? this : UNKNOWN;
    }

    public static Verdict of(boolean answer) {
        return answer ? YES : NO;
    }

    /** 0 for yes, 1 for no, 3 for unknown. */
    public int exitCode() {
        return switch (this) {
            case YES -> 0;
            case NO -> 1;
            case UNKNOWN -> 3;
        };
    }

    /** The word that is printed, in documents too. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
