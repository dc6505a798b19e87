// SPDX-License-Identifier: Apache-2.0
package io.rackspan.controller;

import org.apache.kafka.controller.ControllerFixture;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

import java.util.List;
import java.util.Map;

/** A topic of one partition on brokers 1 to 4, in racks of their own, with min.insync.replicas=2, at level 2 of a complete controller. */
abstract class ElectableTopic {

    static final int NOBODY = -1;

    private static final List<String> RACKS = List.of("a", "b", "c", "d");

    ControllerFixture controller;

    @BeforeEach
    void start() throws Exception {
        controller = ControllerFixture.withBrokers(Map.of(), 2, RACKS.toArray(String[]::new));
        controller.createTopic(List.of(1, 2, 3, 4), Map.of("min.insync.replicas", "2"));
    }

    @AfterEach
    void stop() throws Exception {
        controller.close();
    }

    /** A broker starts, and asks to be unfenced. */
    void restart(int broker, boolean afterCleanShutdown) throws Exception {
        controller.start(broker, RACKS.get(broker - 1), afterCleanShutdown);
        controller.heartbeat(broker, false);
    }
}
