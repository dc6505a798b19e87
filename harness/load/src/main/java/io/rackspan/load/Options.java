package io.rackspan.load;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Command line of the form {@code --name value}; {@code --property k=v} may be repeated. */
final class Options {

    private final Map<String, String> values = new LinkedHashMap<>();
    private final Map<String, String> properties = new LinkedHashMap<>();

    Options(String[] args, Set<String> known) {
        for (int i = 0; i < args.length; i += 2) {
            String name = args[i].startsWith("--") ? args[i].substring(2) : "";
            if (!known.contains(name) && !name.equals("property")) {
                throw new UsageException("unknown option: saw '" + args[i] + "'; use one of "
                    + new TreeSet<>(known) + " or --property");
            }
            if (i + 1 == args.length) {
                throw new UsageException("option without a value: saw '" + args[i] + "' at the end; add its value");
            }
            if (name.equals("property")) {
                addProperty(args[i + 1]);
            } else {
                values.put(name, args[i + 1]);
            }
        }
    }

    private void addProperty(String text) {
        int equals = text.indexOf('=');
        if (equals < 1) {
            throw new UsageException("bad --property: saw '" + text + "'; write it as key=value");
        }
        properties.put(text.substring(0, equals), text.substring(equals + 1));
    }

    Map<String, String> properties() {
        return properties;
    }

    boolean has(String name) {
        return values.containsKey(name);
    }

    String text(String name, String fallback) {
        return values.getOrDefault(name, fallback);
    }

    String required(String name) {
        String value = values.get(name);
        if (value == null) {
            throw new UsageException("missing option: --" + name + " was not given; add it");
        }
        return value;
    }

    double positive(String name, double fallback) {
        String value = values.get(name);
        try {
            double number = value == null ? fallback : Double.parseDouble(value);
            if (number > 0 && number < Double.POSITIVE_INFINITY) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Answered below with the same words as a number that is out of range.
        }
        throw new UsageException("bad --" + name + ": saw '" + value + "'; give a number above 0");
    }

    int integer(String name, int fallback, int most) {
        double value = has(name) ? positive(name, 1) : fallback;
        if (value != Math.rint(value) || value > most) {
            throw new UsageException("bad --" + name + ": saw '" + text(name, "") + "'; give an integer up to "
                + most);
        }
        return (int) value;
    }

    /** The command line is wrong; the message says what was seen and what to write instead. */
    static final class UsageException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        UsageException(String message) {
            super(message);
        }
    }
}
