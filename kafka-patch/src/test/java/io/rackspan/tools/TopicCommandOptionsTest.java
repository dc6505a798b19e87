// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools;

import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.tools.ToolsTestUtils;
import org.apache.kafka.tools.TopicCommand;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** The two reports of kafka-topics.sh are refused where the stock ones are: with another action, and with overrides. */
final class TopicCommandOptionsTest {

    private static final class Ended extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    @BeforeEach
    void start() {
        Exit.setExitProcedure((code, message) -> {
            throw new Ended();
        });
    }

    @AfterEach
    void stop() {
        Exit.resetExitProcedure();
    }

    @ParameterizedTest
    @CsvSource({
        "--under-min-rack-isr-partitions, --describe, --topics-with-overrides",
        "--at-min-rack-isr-partitions, --describe, --topics-with-overrides",
        "--under-min-rack-isr-partitions, --list, --exclude-internal",
        "--at-min-rack-isr-partitions, --list, --exclude-internal"
    })
    void reportsCannotBeCombinedWithOtherOptions(String report, String action, String other) {
        String said = ToolsTestUtils.captureStandardErr(() ->
            assertThrows(Ended.class, () -> TopicCommand.main("--bootstrap-server", "127.0.0.1:1", action, report, other)));
        assertTrue(said.contains("can't be used with"), said);
    }
}
