// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.types.RawTaggedField;

import java.util.List;

/** Tagged fields of our own, which messages of Apache Kafka carry as ones that they do not know. */
final class Tags {

    private Tags() {
    }

    /** The bytes of a field; null if the message has none with that tag. */
    static byte[] find(Message message, int tag) {
        for (RawTaggedField field : message.unknownTaggedFields())
            if (field.tag() == tag)
                return field.data();
        return null;
    }

    /** Gives a message a field, in place of one with the same tag. Fields are kept in the order of their tags, in which they have to be written. */
    static void put(Message message, int tag, byte[] data) {
        List<RawTaggedField> fields = message.unknownTaggedFields();
        fields.removeIf(field -> field.tag() == tag);
        int place = 0;
        while (place < fields.size() && fields.get(place).tag() < tag)
            place++;
        fields.add(place, new RawTaggedField(tag, data));
    }
}
