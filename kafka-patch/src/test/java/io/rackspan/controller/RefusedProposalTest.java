// SPDX-License-Identifier: Apache-2.0
package io.rackspan.controller;

import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.controller.ControllerFixture;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.List;
import java.util.Map;
import java.util.Set;

import static org.junit.jupiter.api.Assertions.assertEquals;

/** Copies of a proposal to change an ISR that arrive after the controller has refused it. */
final class RefusedProposalTest {

    /** Brokers 1, 2 and 3, all in sync. */
    private static ControllerFixture controller(int level) throws Exception {
        ControllerFixture controller = ControllerFixture.withBrokers(Map.of(), level, "a", "a", "a");
        controller.createTopic(List.of(1, 2, 3), Map.of());
        return controller;
    }

    @ParameterizedTest
    @CsvSource({"1, INVALID_UPDATE_VERSION", "0, NONE"})
    void aCopyIsNotAcceptedWhenTheReplicaIsEligibleAgain(int level, Errors answer) throws Exception {
        try (ControllerFixture controller = controller(level)) {
            controller.alterIsr(1, 2);
            AlterPartitionRequestData proposal = controller.proposal(1, 2, 3);
            controller.fence(3);
            assertEquals(Errors.INELIGIBLE_REPLICA, controller.answer(proposal));
            controller.heartbeat(3, false);
            assertEquals(answer, controller.answer(proposal));
            assertEquals(level == 0 ? Set.of(1, 2, 3) : Set.of(1, 2), controller.isr());
            controller.alterIsr(1, 2, 3);
            assertEquals(Set.of(1, 2, 3), controller.isr());
        }
    }
}
