// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import net.sourceforge.argparse4j.impl.Arguments;
import net.sourceforge.argparse4j.inf.Argument;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.ArgumentParserException;
import net.sourceforge.argparse4j.inf.ArgumentType;
import net.sourceforge.argparse4j.inf.Namespace;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Types of option values. Their errors say what was observed and what to give instead. */
final class OptionTypes {

    private OptionTypes() {
    }

    static ArgumentType<Double> positive() {
        return (parser, option, value) -> {
            double number = number(value);
            if (number > 0 && number < Double.POSITIVE_INFINITY) {
                return number;
            }
            throw refused(parser, option, "observed '" + value + "'; give a number above 0");
        };
    }

    static ArgumentType<Integer> integer(int most) {
        return (parser, option, value) -> {
            double number = number(value);
            if (number > 0 && number <= most && number == Math.rint(number)) {
                return (int) number;
            }
            throw refused(parser, option, "observed '" + value + "'; give an integer from 1 to " + most);
        };
    }

    /** A name that records carry, of a limited number of bytes. */
    static ArgumentType<String> name(int mostBytes) {
        return (parser, option, value) -> {
            int bytes = value.getBytes(StandardCharsets.UTF_8).length;
            if (bytes >= 1 && bytes <= mostBytes) {
                return value;
            }
            throw refused(parser, option, "observed '" + value + "' of " + bytes + " bytes; give 1 to " + mostBytes);
        };
    }

    static ArgumentType<String> matching(String pattern, String advice) {
        return (parser, option, value) -> {
            if (value.matches(pattern)) {
                return value;
            }
            throw refused(parser, option, "observed '" + value + "'; give " + advice);
        };
    }

    static ArgumentType<Path> path() {
        return (parser, option, value) -> Path.of(value);
    }

    /** The option {@code --property}, of which {@link #properties} reads the values. */
    static void addProperty(ArgumentParser parser) {
        parser.addArgument("--property").action(Arguments.append())
            .type(matching("(?s)[^=]+=.*", "it as KEY=VALUE")).metavar("KEY=VALUE")
            .help("A setting of the Kafka client; may be repeated.");
    }

    static Map<String, String> properties(Namespace options) {
        Map<String, String> properties = new LinkedHashMap<>();
        List<String> given = options.getList("property");
        for (String property : given == null ? List.<String>of() : given) {
            int equals = property.indexOf('=');
            properties.put(property.substring(0, equals), property.substring(equals + 1));
        }
        return properties;
    }

    private static double number(String value) {
        try {
            return Double.parseDouble(value);
        } catch (NumberFormatException e) {
            return Double.NaN;
        }
    }

    private static ArgumentParserException refused(ArgumentParser parser, Argument option, String text) {
        return new ArgumentParserException(text, parser, option);
    }
}
