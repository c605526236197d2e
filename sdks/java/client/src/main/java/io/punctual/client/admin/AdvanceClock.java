package io.punctual.client.admin;

import io.punctual.client.Request;
import java.time.Duration;
import java.time.Instant;

/** How far to move a manual clock: {@code by} a duration, or {@code to} an instant. */
public final class AdvanceClock extends Request<AdvanceClock> {
    /** A request without fields. */
    public AdvanceClock() {
        super(AdvanceClock.class);
    }

    /**
     * How far.
     *
     * @param by such as {@code 90s}, {@code 1h30m} or {@code 7d}
     * @return this request
     */
    public AdvanceClock by(String by) {
        return put("by", by);
    }

    /**
     * How far.
     *
     * @param by in whole milliseconds
     * @return this request
     */
    public AdvanceClock by(Duration by) {
        return putDuration("by", by);
    }

    /**
     * Until when.
     *
     * @param to an instant
     * @return this request
     */
    public AdvanceClock to(Instant to) {
        return put("to", to);
    }

    /**
     * Until when.
     *
     * @param to ISO 8601 with an offset, such as {@code 2030-01-15T09:00:00+01:00}
     * @return this request
     */
    public AdvanceClock to(String to) {
        return put("to", to);
    }

    /**
     * How many timers may fire in this call. The answer says if there are more.
     *
     * @param maxFirings a whole number
     * @return this request
     */
    public AdvanceClock maxFirings(int maxFirings) {
        return put("maxFirings", maxFirings);
    }
}
