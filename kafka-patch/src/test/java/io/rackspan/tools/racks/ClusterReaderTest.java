// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import org.apache.kafka.common.KafkaException;

import org.junit.jupiter.api.Test;

import java.util.Map;
import java.util.OptionalLong;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

final class ClusterReaderTest {

    private static String refusal(OptionalLong now, OptionalLong one, OptionalLong two) {
        return assertThrows(KafkaException.class, () -> ClusterReader.requireFresh(now, Map.of(1, one, 2, two))).getMessage();
    }

    @Test
    void brokersThatAreBehindMayNotAnswer() {
        OptionalLong now = OptionalLong.of(100_000);
        OptionalLong fresh = OptionalLong.of(99_000);
        assertDoesNotThrow(() -> ClusterReader.requireFresh(now, Map.of(1, fresh, 2, now)));
        String text = "Brokers [2] have not read the newest metadata for 10 s or more, and one of them may have answered";
        assertEquals(text, refusal(now, fresh, OptionalLong.of(90_000)));
        assertEquals(text, refusal(now, fresh, OptionalLong.empty()));
        assertEquals(text.replace("2", "1, 2"), refusal(OptionalLong.empty(), fresh, fresh));
    }
}
