// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;

import io.rackspan.prediction.Verdict;

import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What a verb prints: a document for programs, or tables for people. */
final class Output {

    /** It grows when a field changes its meaning or goes; docs/reference/kafka-racks.md describes the fields. */
    static final int SCHEMA_VERSION = 1;

    private static final ObjectMapper MAPPER = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT)
        .enable(SerializationFeature.WRITE_ENUMS_USING_TO_STRING).disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET);

    private final PrintStream stream;
    private final boolean json;

    Output(PrintStream stream, boolean json) {
        this.stream = stream;
        this.json = json;
    }

    boolean isJson() {
        return json;
    }

    /** The beginning of a document; entries keep their order. */
    static Map<String, Object> document(String verb, Verdict answer) {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("schemaVersion", SCHEMA_VERSION);
        document.put("verb", verb);
        document.put("answer", answer);
        return document;
    }

    void json(Object document) {
        try {
            MAPPER.writeValue(stream, document);
        } catch (IOException e) { // A PrintStream throws none
            throw new UncheckedIOException(e);
        }
        stream.println();
    }

    /** Writes a document to a file, which is there complete or not at all. */
    static void write(Path file, Object document) throws IOException {
        Path aside = file.resolveSibling(file.getFileName() + ".new");
        Files.writeString(aside, MAPPER.writeValueAsString(document) + "\n");
        Files.move(aside, file, StandardCopyOption.ATOMIC_MOVE);
    }

    void line(String text) {
        stream.println(text);
    }

    /** Columns as wide as their widest cell; the last one has no padding. */
    void table(List<String> head, List<List<Object>> rows) {
        int[] widths = new int[head.size()];
        for (int column = 0; column < widths.length; column++) {
            widths[column] = head.get(column).length();
            for (List<Object> row : rows)
                widths[column] = Math.max(widths[column], String.valueOf(row.get(column)).length());
        }
        row(head, widths);
        rows.forEach(row -> row(row, widths));
    }

    private void row(List<?> cells, int[] widths) {
        StringBuilder text = new StringBuilder();
        for (int column = 0; column < widths.length; column++) {
            String cell = String.valueOf(cells.get(column));
            text.append(cell);
            if (column < widths.length - 1)
                text.append(" ".repeat(widths[column] - cell.length() + 2));
        }
        stream.println(text.toString().stripTrailing());
    }
}
