package io.punctual.client;

import java.time.Duration;
import java.time.Instant;

/**
 * Selects timers. All fields that are given must match.
 *
 * @param <R> the class of the request
 */
public abstract class FilterRequest<R extends FilterRequest<R>> extends Request<R> {
    /**
     * A request without fields.
     *
     * @param type the class of the request
     */
    protected FilterRequest(Class<R> type) {
        super(type);
    }

    /**
     * From this instant on: by due time if pending, by finish time if finished.
     *
     * @param from an instant
     * @return this request
     */
    public R from(Instant from) {
        return put("from", from);
    }

    /**
     * From this instant on: by due time if pending, by finish time if finished.
     *
     * @param from ISO 8601 with an offset, such as {@code 2030-01-15T09:00:00+01:00}
     * @return this request
     */
    public R from(String from) {
        return put("from", from);
    }

    /**
     * Before this instant.
     *
     * @param until an instant
     * @return this request
     */
    public R until(Instant until) {
        return put("until", until);
    }

    /**
     * Before this instant.
     *
     * @param until ISO 8601 with an offset, such as {@code 2030-01-15T09:00:00+01:00}
     * @return this request
     */
    public R until(String until) {
        return put("until", until);
    }

    /**
     * Ids that begin like this.
     *
     * @param idPrefix a text
     * @return this request
     */
    public R idPrefix(String idPrefix) {
        return put("idPrefix", idPrefix);
    }

    /**
     * Timers with this correlation id.
     *
     * @param correlationId a text
     * @return this request
     */
    public R correlationId(String correlationId) {
        return put("correlationId", correlationId);
    }

    /**
     * Timers with this tag.
     *
     * @param tag a text
     * @return this request
     */
    public R tag(String tag) {
        return put("tag", tag);
    }

    /**
     * Webhooks to this host: {@code example.com}, or {@code example.com:8443}.
     *
     * @param host a text
     * @return this request
     */
    public R host(String host) {
        return put("host", host);
    }

    /**
     * Why the timer is dead, or was cancelled without a call.
     *
     * @param reason the value
     * @return this request
     */
    public R reason(FinishReason reason) {
        return put("reason", reason);
    }

    /**
     * How the last attempt failed.
     *
     * @param error the value
     * @return this request
     */
    public R error(FailureKind error) {
        return put("error", error);
    }

    /**
     * Deliveries that were at least this late, and timers that are overdue by at least this.
     *
     * @param minLateness such as {@code 90s}, {@code 1h30m} or {@code 7d}
     * @return this request
     */
    public R minLateness(String minLateness) {
        return put("minLateness", minLateness);
    }

    /**
     * Deliveries that were at least this late, and timers that are overdue by at least this.
     *
     * @param minLateness in whole milliseconds
     * @return this request
     */
    public R minLateness(Duration minLateness) {
        return putDuration("minLateness", minLateness);
    }
}
