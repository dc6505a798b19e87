// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.Struct;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;
import org.apache.kafka.common.record.internal.MemoryRecords;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/** Bytes of a message with a value of its own in every field, made from the schema alone. */
final class WireSamples {

    private final boolean sparse;
    private final boolean unknownTags;
    private int count = 0;

    /**
     * @param sparse      null and empty wherever the schema lets it
     * @param unknownTags two tagged fields that no schema has, in every place that can have some
     */
    WireSamples(boolean sparse, boolean unknownTags) {
        this.sparse = sparse;
        this.unknownTags = unknownTags;
    }

    byte[] of(Schema schema) {
        Struct struct = struct(schema);
        ByteBuffer buffer = ByteBuffer.allocate(schema.sizeOf(struct));
        schema.write(buffer, struct);
        return buffer.array();
    }

    private Struct struct(Schema schema) {
        Struct struct = new Struct(schema);
        for (BoundField field : schema.fields())
            struct.set(field, value(field.def.type));
        return struct;
    }

    private Object value(Type type) {
        if (sparse && type.isNullable())
            return null;
        if (type instanceof Schema)
            return struct((Schema) type);
        if (type instanceof TaggedFields)
            return tags((TaggedFields) type);
        if (type.arrayElementType().isPresent())
            return sparse ? new Object[0] : new Object[] {value(type.arrayElementType().get()), value(type.arrayElementType().get())};
        return scalar(type.toString());
    }

    private Object scalar(String type) {
        int n = ++count;
        switch (type.replace("COMPACT_", "").replace("NULLABLE_", "")) {
            case "BOOLEAN":
                return true;
            case "INT8":
                return (byte) (n % 100 + 1);
            case "INT16":
                return (short) (n + 300);
            case "UINT16":
                return n + 40_000;
            case "INT32":
                return n + 70_000;
            case "UINT32":
                return n + 3_000_000_000L;
            case "INT64":
                return n + 5_000_000_000L;
            case "FLOAT64":
                return n + 0.5;
            case "UUID":
                return new Uuid(n, n + 1);
            case "STRING":
                return "text " + n;
            case "BYTES":
                return bytes(n);
            case "RECORDS":
                return MemoryRecords.readableRecords(bytes(n));
            default:
                throw new IllegalArgumentException("no value for the type " + type);
        }
    }

    private static ByteBuffer bytes(int n) {
        return ByteBuffer.wrap(("bytes " + n).getBytes(StandardCharsets.UTF_8));
    }

    private NavigableMap<Integer, Object> tags(TaggedFields type) {
        NavigableMap<Integer, Object> tags = new TreeMap<>();
        if (!sparse)
            for (Map.Entry<Integer, Field> field : type.fields().entrySet())
                tags.put(field.getKey(), value(field.getValue().type));
        if (unknownTags) {
            tags.put(10_000, new RawTaggedField(10_000, bytes(10_000).array()));
            tags.put(10_001, new RawTaggedField(10_001, new byte[0]));
        }
        return tags;
    }
}
