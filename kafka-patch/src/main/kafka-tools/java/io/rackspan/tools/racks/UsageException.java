// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

/** Arguments that cannot be meant: a broker that is not registered, a setting that is not known. */
final class UsageException extends Exception {

    private static final long serialVersionUID = 1L;

    UsageException(String message) {
        super(message);
    }
}
