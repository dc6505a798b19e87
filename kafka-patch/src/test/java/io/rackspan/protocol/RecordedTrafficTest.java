// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.requests.RequestHeader;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import io.rackspan.stock.Variant;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.LongStream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Real producers of one variant talk, over sockets, to a broker that reads and writes with the classes of the other; in every version that
 * producers still speak.
 */
final class RecordedTrafficTest {

    private static final int RECORDS = 3;

    /** Bodies of the produce requests among these, each read by both variants alike. */
    private static List<ProduceRequestData> produced(Collection<byte[]> received, short version) {
        List<ProduceRequestData> found = new ArrayList<>();
        for (byte[] frame : received) {
            ByteBuffer buffer = ByteBuffer.wrap(frame);
            RequestHeader header = RequestHeader.parse(buffer);
            byte[] body = new byte[buffer.remaining()];
            buffer.duplicate().get(body);
            String message = header.apiKey().name() + " request " + header.apiVersion();
            assertEquals(World.OURS.call(String.class, "fields", message, body), World.STOCK.call(String.class, "fields", message, body));
            if (header.apiKey() == ApiKeys.PRODUCE) {
                assertEquals(version, header.apiVersion());
                found.add(new ProduceRequestData(new ByteBufferAccessor(buffer), version));
            }
        }
        return found;
    }

    @ParameterizedTest
    @CsvSource({"1, 3", "2, 3", "3, 3", "4, 4", "5, 5", "6, 6", "7, 7", "8, 8", "9, 9", "10, 10", "11, 11", "12, 12", "13, 13"})
    void eachVariantServesTheOther(short metadata, short produce) throws Exception {
        for (Variant client : List.of(World.OURS, World.STOCK))
            for (Variant broker : List.of(World.OURS, World.STOCK)) {
                Collection<byte[]> received = new ConcurrentLinkedQueue<>();
                try (ServerSocket socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
                    boolean ours = broker == World.OURS;
                    Thread thread = new Thread(() -> broker.call(Object.class, "serve", socket, produce, metadata, ours, received), "serve " + broker);
                    thread.setDaemon(true);
                    thread.start();
                    List<?> offsets = client.call(List.class, "produce", "localhost:" + socket.getLocalPort(), RECORDS);
                    assertEquals(LongStream.range(0, RECORDS).boxed().toList(), offsets, client + " to " + broker);
                    List<ProduceRequestData> produced = produced(received, produce);
                    // The first one was refused by our broker and came again.
                    assertEquals(RECORDS + (ours ? 1 : 0), produced.size(), client + " to " + broker);
                    int declared = client == World.OURS && produce >= 9 ? KnownErrors.INCONSISTENT_CONFIGURATION : KnownErrors.STOCK;
                    for (ProduceRequestData request : produced)
                        assertEquals(declared, KnownErrors.declaredIn(request), client + " to " + broker);
                    assertTrue(received.size() > produced.size());
                }
            }
    }
}
