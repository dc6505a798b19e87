// SPDX-License-Identifier: Apache-2.0
import org.junit.jupiter.api.Test;

/** Leaves something behind in its JVM. */
class SpoilingTest {

    @Test
    void sets() {
        System.setProperty("spoilt", "yes");
    }
}
