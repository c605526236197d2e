package io.punctual.client;

/** Which dead letters to replay: one of {@code timerId}, {@code filter} and {@code all}. */
public final class ReplayTimers extends Request<ReplayTimers> {
    /** A request without fields. */
    public ReplayTimers() {
        super(ReplayTimers.class);
    }

    /**
     * One timer.
     *
     * @param timerId a text
     * @return this request
     */
    public ReplayTimers timerId(String timerId) {
        return put("timerId", timerId);
    }

    /**
     * The namespace of the timers; that of the client when left out.
     *
     * @param namespace a text
     * @return this request
     */
    public ReplayTimers namespace(String namespace) {
        return put("namespace", namespace);
    }

    /**
     * The timers that match.
     *
     * @param filter the value
     * @return this request
     */
    public ReplayTimers filter(TimerFilter filter) {
        return put("filter", filter);
    }

    /**
     * All timers of the namespace.
     *
     * @return this request
     */
    public ReplayTimers all() {
        return put("all", true);
    }

    /**
     * Where to go on: the {@code nextCursor} of the last answer.
     *
     * @param cursor a text
     * @return this request
     */
    public ReplayTimers cursor(String cursor) {
        return put("cursor", cursor);
    }

    /**
     * Only count, and change nothing.
     *
     * @param dryRun true or false
     * @return this request
     */
    public ReplayTimers dryRun(boolean dryRun) {
        return put("dryRun", dryRun);
    }
}
