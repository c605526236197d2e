package io.punctual.client;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Durations as Punctual writes them: {@code 250ms}, {@code 90s}, {@code 1h30m}, {@code 7d}, or ISO 8601 such as {@code
 * PT90S}. There are no months and no years, and the longest duration has 3,653 days.
 */
public final class Durations {
    private static final Pattern SHORT_FORM = Pattern.compile(
            "(?:([0-9]{1,15})d)?(?:([0-9]{1,15})h)?(?:([0-9]{1,15})m)?(?:([0-9]{1,15})s)?(?:([0-9]{1,15})ms)?");
    private static final Pattern ISO_FORM = Pattern.compile(
            "P(?=.)(?:([0-9]{1,15})D)?(?:T(?=.)(?:([0-9]{1,15})H)?(?:([0-9]{1,15})M)?(?:([0-9]{1,15})(?:\\.([0-9]{1,3}))?S)?)?");
    private static final Duration LONGEST = Duration.ofDays(3653);
    private static final DateTimeFormatter INSTANT =
            DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC);

    private Durations() {}

    /**
     * Reads a duration.
     *
     * @param text such as {@code 1h30m}
     * @return the duration; empty if the text is none
     */
    public static Optional<Duration> parse(String text) {
        if (text.isEmpty() || text.length() > 100) return Optional.empty();
        boolean isIso = text.startsWith("P");
        Matcher match = (isIso ? ISO_FORM : SHORT_FORM).matcher(text);
        if (!match.matches()) return Optional.empty();
        long restMs = isIso ? Long.parseLong((digits(match, 5) + "000").substring(0, 3)) : number(match, 5);
        try {
            Duration duration = Duration.ofDays(number(match, 1))
                    .plusHours(number(match, 2))
                    .plusMinutes(number(match, 3))
                    .plusSeconds(number(match, 4))
                    .plusMillis(restMs);
            return duration.compareTo(LONGEST) <= 0 ? Optional.of(duration) : Optional.empty();
        } catch (ArithmeticException tooLong) {
            return Optional.empty();
        }
    }

    /**
     * Writes a duration in whole milliseconds. A rest below a millisecond is cut off.
     *
     * @param duration from zero to 3,653 days
     * @return such as {@code 1h30m}
     * @throws IllegalArgumentException if the duration is negative or too long
     */
    public static String text(Duration duration) {
        if (duration.isNegative() || duration.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException("a duration must be from 0 to 3653 days, not " + duration);
        }
        String text = part(duration.toDaysPart(), "d")
                + part(duration.toHoursPart(), "h")
                + part(duration.toMinutesPart(), "m")
                + part(duration.toSecondsPart(), "s")
                + part(duration.toMillisPart(), "ms");
        return text.isEmpty() ? "0s" : text;
    }

    /** UTC with milliseconds, as the service writes instants. */
    static String instantText(Instant instant) {
        return INSTANT.format(instant);
    }

    private static String part(long count, String unit) {
        return count == 0 ? "" : count + unit;
    }

    private static String digits(Matcher match, int group) {
        return match.group(group) == null ? "" : match.group(group);
    }

    private static long number(Matcher match, int group) {
        return match.group(group) == null ? 0 : Long.parseLong(match.group(group));
    }
}
