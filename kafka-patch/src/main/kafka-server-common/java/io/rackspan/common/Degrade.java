// SPDX-License-Identifier: Apache-2.0
package io.rackspan.common;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;

import java.time.DateTimeException;
import java.time.Instant;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A lower min.insync.racks that a topic has for a time: the value of its setting {@link #NAME} as the controller keeps it.
 *
 * @param to     min.insync.racks while it lasts
 * @param from   the topic's own value before and afterwards; empty if it goes by the cluster default
 * @param since  when it began, by the controller's clock
 * @param until  when the controller ends it
 * @param by     the principal that requested it
 * @param reason the reason given
 */
public record Degrade(int to, String from, Instant since, Instant until, String by, String reason) {

    public static final String NAME = "min.insync.racks.degrade";

    /** The longest one. */
    public static final long MAX_MS = 7 * 24 * 3_600_000L;

    /** Accepts what the controller writes, and no value. */
    public static final ConfigDef.Validator VALIDATOR = new ConfigDef.Validator() {

        @Override
        public void ensureValid(String name, Object value) {
            if (value != null && of((String) value) == null)
                throw new ConfigException(name, value, "It must be " + REQUESTED_FORM);
        }

        @Override
        public String toString() {
            return REQUESTED_FORM;
        }
    };

    private static final String REQUESTED_FORM = "to=RACKS,for=NUMBER and s, m, h or d,reason=1 to 200 characters";
    private static final String REASON = "reason=(\\P{Cntrl}{1,200})";
    private static final Pattern STORED = Pattern.compile("to=([1-9]\\d{0,3}),from=(\\d{0,9}),since=([^,]+),until=([^,]+),by=(.*?)," + REASON);
    private static final Pattern REQUESTED = Pattern.compile("to=([1-9]\\d{0,3}),for=([1-9]\\d{0,6})([smhd])," + REASON);
    private static final Map<String, Long> UNIT_MS = Map.of("s", 1_000L, "m", 60_000L, "h", 3_600_000L, "d", 86_400_000L);

    /** Reads a value that the controller wrote; null for null and for what it did not write. */
    public static Degrade of(String text) {
        Matcher match = text == null ? null : STORED.matcher(text);
        if (match == null || !match.matches())
            return null;
        try {
            return new Degrade(Integer.parseInt(match.group(1)), match.group(2), Instant.parse(match.group(3)), Instant.parse(match.group(4)),
                match.group(5), match.group(6));
        } catch (DateTimeException e) {
            return null;
        }
    }

    /**
     * Reads a request, such as to=1,for=2h,reason=rack b is down.
     *
     * @param from the topic's own min.insync.racks; empty if it has none
     * @throws ConfigException if it is no request, or one for more than {@link #MAX_MS}
     */
    public static Degrade requested(String text, String from, Instant now, String by) {
        Matcher match = REQUESTED.matcher(text);
        if (!match.matches())
            throw new ConfigException(NAME, text, "It must be " + REQUESTED_FORM);
        long ms = Long.parseLong(match.group(2)) * UNIT_MS.get(match.group(3));
        if (ms > MAX_MS)
            throw new ConfigException(NAME, text, "It can last 7 days at most. A lower promise for longer is a lower min.insync.racks");
        return new Degrade(Integer.parseInt(match.group(1)), from, now, now.plusMillis(ms), by, match.group(4));
    }

    /** The form that is stored. */
    @Override
    public String toString() {
        return "to=" + to + ",from=" + from + ",since=" + since + ",until=" + until + ",by=" + by + ",reason=" + reason;
    }
}
