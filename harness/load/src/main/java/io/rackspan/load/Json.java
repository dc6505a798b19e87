package io.rackspan.load;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;

import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.Map;

/** Status lines on stdout, one JSON object a line. Jackson's core alone: data binding would double the start of a client. */
final class Json {

    private static final JsonFactory FACTORY = new JsonFactory();

    private Json() {
    }

    static synchronized void print(Map<String, ?> line) {
        StringWriter text = new StringWriter();
        try (JsonGenerator out = FACTORY.createGenerator(text)) {
            write(out, line);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        System.out.println(text);
        System.out.flush();
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
