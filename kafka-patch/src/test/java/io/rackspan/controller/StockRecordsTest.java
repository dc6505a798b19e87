// SPDX-License-Identifier: Apache-2.0
package io.rackspan.controller;

import org.apache.kafka.controller.RandomRequests;

import io.rackspan.stock.Variant;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** At level 0 of rackspan.version the controller is the base's: the same requests give the same answers and the same bytes in the metadata log. */
final class StockRecordsTest {

    private static final int HISTORIES = 30;
    private static final int REQUESTS = 200;

    @Test
    void atLevel0TheMetadataLogIsThatOfStockByteForByte() {
        Variant stock = Variant.stock(RandomRequests.class);
        Variant ours = Variant.ours(RandomRequests.class);
        assertNotEquals(stock.call(String.class, "library"), ours.call(String.class, "library"));
        Map<String, Integer> kinds = new TreeMap<>();
        for (long seed = 0; seed < HISTORIES; seed++) {
            List<String> expected = stock.call(String.class, "play", seed, REQUESTS).lines().toList();
            List<String> found = ours.call(String.class, "play", seed, REQUESTS).lines().toList();
            for (int line = 0; line < expected.size(); line++)
                assertEquals(expected.get(line), line < found.size() ? found.get(line) : "", "seed " + seed + ", line " + line);
            assertEquals(expected.size(), found.size(), "seed " + seed);
            expected.stream().filter(line -> line.matches("\\w+Record .*")).forEach(line -> kinds.merge(line.substring(0, line.indexOf(' ')), 1, Integer::sum));
        }
        assertTrue(kinds.getOrDefault("PartitionChangeRecord", 0) > 20 * HISTORIES, kinds.toString());
        for (String kind : new String[] {"RegisterBrokerRecord", "UnregisterBrokerRecord", "BrokerRegistrationChangeRecord", "TopicRecord", "RemoveTopicRecord", "PartitionRecord",
            "ConfigRecord", "ClearElrRecord"})
            assertTrue(kinds.getOrDefault(kind, 0) > HISTORIES / 2, kind + " is rare: " + kinds);
    }
}
