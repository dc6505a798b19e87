// SPDX-License-Identifier: Apache-2.0
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;

/** Passes only in a JVM in which SpoilingTest has not run. */
class SpoiltTest {

    @Test
    void needs() {
        Assertions.assertNull(System.getProperty("spoilt"));
    }

    @Test
    void passes() {
    }
}
