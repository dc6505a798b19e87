package io.rackspan.load;

import java.util.Collection;
import java.util.Map;
import java.util.stream.Collectors;

/** One flat or nested map as one JSON line. */
final class Json {

    private Json() {
    }

    static synchronized void print(Map<String, ?> value) {
        System.out.println(write(value));
        System.out.flush();
    }

    static String write(Object value) {
        if (value instanceof Map<?, ?> map) {
            StringBuilder out = new StringBuilder("{");
            map.forEach((k, v) -> out.append(out.length() > 1 ? "," : "").append(quote(String.valueOf(k)))
                .append(':').append(write(v)));
            return out.append('}').toString();
        }
        if (value instanceof Collection<?> items) {
            return items.stream().map(Json::write).collect(Collectors.joining(",", "[", "]"));
        }
        if (value == null || value instanceof Boolean || value instanceof Integer || value instanceof Long) {
            return String.valueOf(value);
        }
        if (value instanceof Double number) {
            return number.isNaN() || number.isInfinite() ? "null" : number.toString();
        }
        return quote(value.toString());
    }

    private static String quote(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < 0x20) {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }
}
