// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;

import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/** JSON texts of one line. Jackson's core alone: data binding would double the start of a client. */
final class Json {

    private static final JsonFactory FACTORY = new JsonFactory();

    private Json() {
    }

    static String text(Map<String, ?> line) {
        StringWriter text = new StringWriter();
        try (JsonGenerator out = FACTORY.createGenerator(text)) {
            write(out, line);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return text.toString();
    }

    /** The strings of an array. */
    static List<String> strings(String array) throws IOException {
        List<String> found = new ArrayList<>();
        try (JsonParser in = FACTORY.createParser(array)) {
            if (in.nextToken() != JsonToken.START_ARRAY) {
                throw new IOException("no array");
            }
            while (in.nextToken() == JsonToken.VALUE_STRING) {
                found.add(in.getText());
            }
            if (in.currentToken() != JsonToken.END_ARRAY) {
                throw new IOException("not only strings");
            }
        }
        return found;
    }

    private static void write(JsonGenerator out, Object value) throws IOException {
        if (value instanceof Map<?, ?> map) {
            out.writeStartObject();
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                out.writeFieldName(entry.getKey().toString());
                write(out, entry.getValue());
            }
            out.writeEndObject();
        } else if (value instanceof Collection<?> items) {
            out.writeStartArray();
            for (Object item : items) {
                write(out, item);
            }
            out.writeEndArray();
        } else if (value instanceof Double number && !Double.isFinite(number)) {
            out.writeNull();
        } else {
            out.writePOJO(value);
        }
    }
}
