package io.punctual.client;

/** Which dead letters to remove: one of {@code timerId}, {@code filter} and {@code all}. */
public final class DiscardTimers extends Request<DiscardTimers> {
    /** A request without fields. */
    public DiscardTimers() {
        super(DiscardTimers.class);
    }

    /**
     * One timer.
     *
     * @param timerId a text
     * @return this request
     */
    public DiscardTimers timerId(String timerId) {
        return put("timerId", timerId);
    }

    /**
     * The namespace of the timers; that of the client when left out.
     *
     * @param namespace a text
     * @return this request
     */
    public DiscardTimers namespace(String namespace) {
        return put("namespace", namespace);
    }

    /**
     * The timers that match.
     *
     * @param filter the value
     * @return this request
     */
    public DiscardTimers filter(TimerFilter filter) {
        return put("filter", filter);
    }

    /**
     * All timers of the namespace.
     *
     * @return this request
     */
    public DiscardTimers all() {
        return put("all", true);
    }

    /**
     * Where to go on: the {@code nextCursor} of the last answer.
     *
     * @param cursor a text
     * @return this request
     */
    public DiscardTimers cursor(String cursor) {
        return put("cursor", cursor);
    }

    /**
     * Why, in the audit log.
     *
     * @param reason a text
     * @return this request
     */
    public DiscardTimers reason(String reason) {
        return put("reason", reason);
    }

    /**
     * Only count, and change nothing.
     *
     * @param dryRun true or false
     * @return this request
     */
    public DiscardTimers dryRun(boolean dryRun) {
        return put("dryRun", dryRun);
    }
}
