package io.rackspan.protocol;

import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;

import java.util.List;

/**
 * Which of Rackspan's error codes the other side knows. A stock client takes a code that it does not know for a final error,
 * so it gets the nearest stock code with the same retry behaviour, and the text that says what is really wrong.
 */
public final class KnownErrors {

    /** The tagged field of ProduceRequest in which a client declares what it knows. Stock brokers ignore it. */
    static final int TAG = 10001;

    /** What a stock client knows. */
    public static final int STOCK = 0;

    /** NOT_ENOUGH_RACKS and NOT_ENOUGH_RACKS_AFTER_APPEND. */
    static final int RACKS = 1;

    /** These and INCONSISTENT_REPLICA_CONFIGURATION. */
    static final int INCONSISTENT_CONFIGURATION = 2;

    /** Tagged fields came with this version of ProduceRequest; an older one cannot be written with them. */
    private static final short FIRST_FLEXIBLE_VERSION = 9;

    private KnownErrors() {
    }

    /** Lets a request say that its sender knows the codes, where its version can. Doing it twice is doing it once. */
    public static void declare(ProduceRequestData request, short version) {
        List<RawTaggedField> tags = request.unknownTaggedFields();
        tags.removeIf(tag -> tag.tag() == TAG);
        if (version >= FIRST_FLEXIBLE_VERSION)
            tags.add(new RawTaggedField(TAG, new byte[] {INCONSISTENT_CONFIGURATION}));
    }

    /** Up to which level the sender of a request declared that it knows the codes; each level includes those below. */
    public static int declaredIn(ProduceRequestData request) {
        for (RawTaggedField tag : request.unknownTaggedFields())
            if (tag.tag() == TAG && tag.size() > 0)
                return Math.max(tag.data()[0], STOCK);
        return STOCK;
    }

    /** Puts the stock code into an answer, unless that level includes its code; the text stays, or is made of what the code would have said. */
    public static void translate(PartitionResponse answer, int level) {
        Errors stock = stock(answer.error);
        if (stock == answer.error || level >= levelOf(answer.error))
            return;
        if (answer.errorMessage == null)
            answer.errorMessage = answer.error.message();
        answer.error = stock;
    }

    private static int levelOf(Errors error) {
        return error == Errors.INCONSISTENT_REPLICA_CONFIGURATION ? INCONSISTENT_CONFIGURATION : RACKS;
    }

    /** The nearest stock code; any other code is its own. */
    public static Errors stock(Errors error) {
        if (error == Errors.NOT_ENOUGH_RACKS)
            return Errors.NOT_ENOUGH_REPLICAS;
        if (error == Errors.NOT_ENOUGH_RACKS_AFTER_APPEND)
            return Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND;
        if (error == Errors.INCONSISTENT_REPLICA_CONFIGURATION)
            return Errors.INVALID_CONFIG;
        return error;
    }
}
