// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;

import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

final class KnownErrorsTest {

    /** The level that a broker reads from a request of this version. */
    private static ProduceRequestData read(ProduceRequest request) {
        return new ProduceRequestData(new ByteBufferAccessor(request.serialize().buffer()), request.version());
    }

    @Test
    void ourClientDeclaresItsLevelInEveryFlexibleVersion() {
        for (short version = ApiKeys.PRODUCE.oldestVersion(); version <= ApiKeys.PRODUCE.latestVersion(); version++) {
            ProduceRequest.Builder builder = ProduceRequest.builder(new ProduceRequestData().setAcks((short) -1));
            builder.build(version);
            assertEquals(version >= 9 ? KnownErrors.INCONSISTENT_CONFIGURATION : KnownErrors.STOCK,
                KnownErrors.declaredIn(read(builder.build(version))), "version " + version);
        }
    }

    @Test
    void aRequestThatFallsBackToAnOldVersionLosesTheTag() {
        ProduceRequest.Builder builder = ProduceRequest.builder(new ProduceRequestData());
        builder.build(ApiKeys.PRODUCE.latestVersion());
        assertEquals(KnownErrors.STOCK, KnownErrors.declaredIn(read(builder.build((short) 8))));
        ProduceRequest again = builder.build(ApiKeys.PRODUCE.latestVersion());
        assertEquals(1, again.data().unknownTaggedFields().size());
    }

    @Test
    void otherClientsDeclareNoLevel() {
        ProduceRequestData stock = new ProduceRequestData();
        assertEquals(KnownErrors.STOCK, KnownErrors.declaredIn(stock));
        stock.unknownTaggedFields().add(new RawTaggedField(KnownErrors.TAG, new byte[0]));
        assertEquals(KnownErrors.STOCK, KnownErrors.declaredIn(stock));
        stock.unknownTaggedFields().add(new RawTaggedField(KnownErrors.TAG + 1, new byte[] {1}));
        stock.unknownTaggedFields().add(new RawTaggedField(KnownErrors.TAG, new byte[] {-1}));
        assertEquals(KnownErrors.STOCK, KnownErrors.declaredIn(stock));
    }

    @Test
    void translationKeepsTheTextAndTheRetryBehaviour() {
        PartitionResponse answer = new PartitionResponse(Errors.NOT_ENOUGH_RACKS, "no rack b");
        KnownErrors.translate(answer, KnownErrors.STOCK);
        assertEquals(Errors.NOT_ENOUGH_REPLICAS, answer.error);
        assertEquals("no rack b", answer.errorMessage);
        answer = new PartitionResponse(Errors.NOT_ENOUGH_RACKS_AFTER_APPEND);
        KnownErrors.translate(answer, KnownErrors.STOCK);
        assertEquals(Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, answer.error);
        assertEquals(Errors.NOT_ENOUGH_RACKS_AFTER_APPEND.message(), answer.errorMessage);
        for (Errors error : Errors.values()) {
            Errors stock = KnownErrors.stock(error);
            assertTrue(stock.code() < 10000, error + " has no stock code");
            if (stock != error)
                assertEquals(error.exception() instanceof org.apache.kafka.common.errors.RetriableException,
                    stock.exception() instanceof org.apache.kafka.common.errors.RetriableException, error.toString());
            else {
                PartitionResponse other = new PartitionResponse(error);
                KnownErrors.translate(other, KnownErrors.STOCK);
                assertEquals(error, other.error);
                assertEquals(null, other.errorMessage);
            }
        }
    }

    @Test
    void aClientGetsTheCodesOfItsLevel() {
        assertEquals(Errors.NOT_ENOUGH_RACKS, reported(Errors.NOT_ENOUGH_RACKS, KnownErrors.RACKS));
        assertEquals(Errors.INVALID_CONFIG, reported(Errors.INCONSISTENT_REPLICA_CONFIGURATION, KnownErrors.RACKS));
        for (Errors error : Errors.values())
            assertEquals(error, reported(error, KnownErrors.INCONSISTENT_CONFIGURATION));
    }

    private static Errors reported(Errors error, int level) {
        PartitionResponse answer = new PartitionResponse(error, "why");
        KnownErrors.translate(answer, level);
        assertEquals("why", answer.errorMessage);
        return answer.error;
    }
}
