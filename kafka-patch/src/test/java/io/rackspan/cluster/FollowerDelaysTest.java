// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.junit.jupiter.api.Test;

import java.util.List;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

final class FollowerDelaysTest {

    private final FollowerDelays delays = new FollowerDelays();

    @Test
    void nothingIsKnownAtFirst() {
        assertEquals(0, delays.delayMs(2, 1_000));
        delays.reported(2, 5, 1_000);
        assertEquals(0, delays.delayMs(2, 9_000));
    }

    @Test
    void aReportCountsFromTheAppendThatWasTheOldestUnreported() {
        delays.appended(1, 100);
        delays.appended(2, 150);
        delays.reported(2, 2, 200);
        assertEquals(10, delays.delayMs(2, 5_000), 1e-9, "a tenth of the 100 ms since the first");
        delays.appended(3, 300);
        delays.reported(2, 3, 400);
        assertEquals(19, delays.delayMs(2, 5_000), 1e-9);
    }

    @Test
    void theAverageComesCloseToWhatItIsGiven() {
        for (int i = 1; i <= 100; i++) {
            delays.appended(i, i * 100);
            delays.reported(2, i, i * 100 + 7);
        }
        assertEquals(7, delays.delayMs(2, 100_000), 0.01);
    }

    @Test
    void aFollowerThatStallsIsAsSlowAsItHasBeenSilent() {
        delays.appended(1, 100);
        delays.reported(2, 1, 101);
        delays.appended(2, 200);
        assertEquals(150, delays.delayMs(2, 350));
        assertEquals(250, delays.delayMs(3, 350), "one that never reported has not the first either");
    }

    @Test
    void theLastOfSeveralAppendsOfOneMsIsMissedToo() {
        delays.appended(1, 100);
        delays.appended(2, 100);
        delays.reported(2, 1, 101);
        assertEquals(80, delays.delayMs(2, 180));
        delays.reported(2, 2, 180);
        assertTrue(delays.delayMs(2, 10_000) > 0);
    }

    @Test
    void reportsThatMoveNothingOrGoBackDoNotCount() {
        delays.appended(10, 100);
        delays.reported(2, 10, 110);
        double known = delays.delayMs(2, 110);
        delays.reported(2, 10, 500);
        delays.reported(2, 4, 500);
        assertEquals(known, delays.delayMs(2, 500));
    }

    @Test
    void onlyTheLastAppendsAreRemembered() {
        for (int i = 1; i <= 10_000; i++)
            delays.appended(i, i);
        assertEquals(255, delays.delayMs(2, 10_000), "the oldest mark that is left");
        delays.reported(2, 10_000, 10_000);
        assertEquals(25.5, delays.delayMs(2, 20_000), 1e-9);
    }

    @Test
    void theOldestUnreportedAppendIsFoundAmongAllThatAreRemembered() {
        for (int first : List.of(1, 100, 1_000)) {
            delays.clear();
            for (int i = first; i < first + 600; i++)
                delays.appended(2 * i, i);
            int oldest = first + 600 - 256;
            for (int reported = 2 * oldest - 3; reported < 2 * (first + 600); reported++) {
                delays.reported(reported, reported, 0);
                int unreported = Math.max(oldest, reported / 2 + 1);
                double expected = unreported < first + 600 ? 1_000_000 - unreported : 0;
                assertEquals(expected, delays.delayMs(reported, 1_000_000), "reported " + reported + " of appends from " + first);
            }
        }
    }

    @Test
    void eachFollowerHasADelayOfItsOwn() {
        delays.appended(1, 100);
        for (int follower = 2; follower <= 9; follower++)
            delays.reported(follower, 1, 100 + 10 * follower);
        for (int follower = 2; follower <= 9; follower++)
            assertEquals(follower, delays.delayMs(follower, 9_000), 1e-9);
    }

    @Test
    void aNewTermKnowsNothing() {
        delays.appended(1, 100);
        delays.reported(2, 1, 900);
        delays.clear();
        assertEquals(0, delays.delayMs(2, 9_000));
        delays.appended(1, 9_000);
        delays.reported(2, 1, 9_010);
        assertEquals(1, delays.delayMs(2, 99_000), 1e-9);
    }
}
