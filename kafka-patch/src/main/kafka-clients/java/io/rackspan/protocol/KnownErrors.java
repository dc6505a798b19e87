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

    /** NOT_ENOUGH_RACKS and NOT_ENOUGH_RACKS_AFTER_APPEND. */
    private static final byte LEVEL_RACKS = 1;

    /** Tagged fields came with this version of ProduceRequest; an older one cannot be written with them. */
    private static final short FIRST_FLEXIBLE_VERSION = 9;

    private KnownErrors() {
    }

    /** Lets a request say that its sender knows the codes, where its version can. Doing it twice is doing it once. */
    public static void declare(ProduceRequestData request, short version) {
        List<RawTaggedField> tags = request.unknownTaggedFields();
        tags.removeIf(tag -> tag.tag() == TAG);
        if (version >= FIRST_FLEXIBLE_VERSION)
            tags.add(new RawTaggedField(TAG, new byte[] {LEVEL_RACKS}));
    }

    /** True if the sender of a request declared that it knows the codes. */
    public static boolean declaredIn(ProduceRequestData request) {
        for (RawTaggedField tag : request.unknownTaggedFields())
            if (tag.tag() == TAG && tag.size() > 0 && tag.data()[0] >= LEVEL_RACKS)
                return true;
        return false;
    }

    /** Puts the stock code into an answer; the text stays, or is made of what the code would have said. */
    public static void translate(PartitionResponse answer) {
        Errors stock = stock(answer.error);
        if (stock == answer.error)
            return;
        if (answer.errorMessage == null)
            answer.errorMessage = answer.error.message();
        answer.error = stock;
    }

    /** The nearest stock code; any other code is its own. */
    public static Errors stock(Errors error) {
        if (error == Errors.NOT_ENOUGH_RACKS)
            return Errors.NOT_ENOUGH_REPLICAS;
        if (error == Errors.NOT_ENOUGH_RACKS_AFTER_APPEND)
            return Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND;
        return error;
    }
}
