// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

import java.util.List;
import java.util.Map;

import static org.junit.jupiter.api.Assertions.assertEquals;

/** The base of tests of one leader among brokers 1, 2 and so on in these racks. No fault may have been handled at the end. */
abstract class LeaderTest {

    private final Map<String, String> settings;
    private final String[] racks;

    LeaderFixture broker;

    LeaderTest(String... racks) {
        this(Map.of(), racks);
    }

    LeaderTest(Map<String, String> settings, String... racks) {
        this.settings = settings;
        this.racks = racks;
    }

    @BeforeEach
    void start() throws Exception {
        broker = new LeaderFixture(settings);
        broker.brokers(racks);
    }

    @AfterEach
    void stop() throws Exception {
        broker.close();
        assertEquals(List.of(), broker.faults);
    }
}
