// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.Node;

import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

import static org.junit.jupiter.api.Assertions.assertEquals;

final class RacksTest {

    private static int span(String... racks) {
        List<Integer> replicas = IntStream.range(0, racks.length).boxed().toList();
        assertEquals(Racks.span(replicas, id -> racks[id]), Racks.span(new LinkedHashSet<>(replicas), id -> racks[id]));
        return Racks.span(replicas, id -> racks[id]);
    }

    @Test
    void distinctRacksCount() {
        assertEquals(0, span());
        assertEquals(1, span("a", "a", "a"));
        assertEquals(2, span("a", "b", "a"));
        assertEquals(3, span("a", "b", "c"));
    }

    @Test
    void brokersWithoutARackShareOneAndUnknownBrokersAreInNone() {
        assertEquals(2, span("", "a", ""));
        assertEquals(1, span(null, "a", null));
        assertEquals(0, span(null, null));
    }

    @Test
    void ofANodeTheRackIsUnnamedOrNotKnown() {
        Node named = new Node(1, "h", 1, "a");
        List<Node> nodes = Arrays.asList(named, new Node(2, "h", 2), new Node(3, "h", 3, ""), Node.noNode());
        assertEquals(Arrays.asList("a", "", "", null), nodes.stream().map(Racks::of).toList());
        assertEquals(List.of(true, false, false, false), nodes.stream().map(Racks::isNamed).toList());
        assertEquals(2, Racks.span(nodes, Racks::of));
        assertEquals(1, Racks.span(Set.of(1, 2), Map.of(1, "a")::get));
    }
}
