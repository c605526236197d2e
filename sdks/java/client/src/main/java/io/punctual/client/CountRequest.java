package io.punctual.client;

import java.util.Collection;
import java.util.List;

/**
 * Selects timers by their state too.
 *
 * @param <R> the class of the request
 */
public abstract class CountRequest<R extends CountRequest<R>> extends ScopedRequest<R> {
    /**
     * A request without fields.
     *
     * @param type the class of the request
     */
    protected CountRequest(Class<R> type) {
        super(type);
    }

    /**
     * The state of the timers: {@code PENDING} when left out.
     *
     * @param state the value
     * @return this request
     */
    public R state(ListState state) {
        return put("state", state);
    }

    /**
     * Several states instead of one.
     *
     * @param states the values
     * @return this request
     */
    public R states(ListState... states) {
        return put("states", List.of(states));
    }

    /**
     * Several states instead of one.
     *
     * @param states the values
     * @return this request
     */
    public R states(Collection<ListState> states) {
        return put("states", states == null ? null : List.copyOf(states));
    }
}
