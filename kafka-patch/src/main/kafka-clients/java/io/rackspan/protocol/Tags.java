// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.types.RawTaggedField;

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
}
