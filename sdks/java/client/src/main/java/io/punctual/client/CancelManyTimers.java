package io.punctual.client;

/** Which pending timers to cancel: {@code filter}, or {@code all}. */
public final class CancelManyTimers extends Request<CancelManyTimers> {
    /** A request without fields. */
    public CancelManyTimers() {
        super(CancelManyTimers.class);
    }

    /**
     * The namespace of the timers; that of the client when left out.
     *
     * @param namespace a text
     * @return this request
     */
    public CancelManyTimers namespace(String namespace) {
        return put("namespace", namespace);
    }

    /**
     * The timers that match.
     *
     * @param filter the value
     * @return this request
     */
    public CancelManyTimers filter(TimerFilter filter) {
        return put("filter", filter);
    }

    /**
     * All timers of the namespace.
     *
     * @return this request
     */
    public CancelManyTimers all() {
        return put("all", true);
    }

    /**
     * Where to go on: the {@code nextCursor} of the last answer.
     *
     * @param cursor a text
     * @return this request
     */
    public CancelManyTimers cursor(String cursor) {
        return put("cursor", cursor);
    }
}
