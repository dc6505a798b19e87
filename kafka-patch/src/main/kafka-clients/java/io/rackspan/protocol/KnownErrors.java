// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;

import java.util.List;

/**
 * The error codes of Rackspan that a peer knows. A stock client treats a code that it does not know as non-retriable, so it gets
 * the nearest stock code with the same retry behaviour, and a text that gives the actual reason.
 */
public final class KnownErrors {

    /** The tagged field of ProduceRequest in which a client declares what it knows. Stock brokers ignore it. */
    static final int TAG = 10001;

    /** The level of a stock client. */
    public static final int STOCK = 0;

    /** NOT_ENOUGH_RACKS and NOT_ENOUGH_RACKS_AFTER_APPEND. */
    static final int RACKS = 1;

    /** These and INCONSISTENT_REPLICA_CONFIGURATION. */
    static final int INCONSISTENT_CONFIGURATION = 2;

    // Errors has it only behind the patch of KIP-579, and this class comes with one before that.
    private static final short INCONSISTENT_REPLICA_CONFIGURATION = 10002;

    /** Tagged fields came with this version of ProduceRequest; an older one cannot be written with them. */
    private static final short FIRST_FLEXIBLE_VERSION = 9;

    private KnownErrors() {
    }

    /** Declares in a request that its sender knows the codes, where its version can. Idempotent. */
    public static void declare(ProduceRequestData request, short version) {
        List<RawTaggedField> tags = request.unknownTaggedFields();
        tags.removeIf(tag -> tag.tag() == TAG);
        if (version >= FIRST_FLEXIBLE_VERSION)
            tags.add(new RawTaggedField(TAG, new byte[] {INCONSISTENT_CONFIGURATION}));
    }

    /** The highest level of codes that the sender of a request declared; each level includes those below. */
    public static int declaredIn(ProduceRequestData request) {
        for (RawTaggedField tag : request.unknownTaggedFields())
            if (tag.tag() == TAG && tag.size() > 0)
                return Math.max(tag.data()[0], STOCK);
        return STOCK;
    }

    /** Puts the stock code into an answer, unless that level includes its code. The text stays; without one it becomes the message of the code that is replaced. */
    public static void translate(PartitionResponse answer, int level) {
        Errors stock = stock(answer.error);
        if (stock == answer.error || level >= levelOf(answer.error))
            return;
        if (answer.errorMessage == null)
            answer.errorMessage = answer.error.message();
        answer.error = stock;
    }

    private static int levelOf(Errors error) {
        return error.code() == INCONSISTENT_REPLICA_CONFIGURATION ? INCONSISTENT_CONFIGURATION : RACKS;
    }

    /** The nearest stock code; any other code is its own. */
    public static Errors stock(Errors error) {
        if (error == Errors.NOT_ENOUGH_RACKS)
            return Errors.NOT_ENOUGH_REPLICAS;
        if (error == Errors.NOT_ENOUGH_RACKS_AFTER_APPEND)
            return Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND;
        if (error.code() == INCONSISTENT_REPLICA_CONFIGURATION)
            return Errors.INVALID_CONFIG;
        return error;
    }
}
