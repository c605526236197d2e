package io.punctual.client;

import java.util.List;

/** Which timers to list, and how. {@link Paged} says how long the pages are. */
public final class ListTimers extends CountRequest<ListTimers> {
    /** A request without fields. */
    public ListTimers() {
        super(ListTimers.class);
    }

    /**
     * The order. When left out: earliest first for pending timers and for {@code idPrefix}, else latest first.
     *
     * @param order the value
     * @return this request
     */
    public ListTimers order(SortOrder order) {
        return put("order", order);
    }

    /**
     * Lists each timer with its payload.
     *
     * @return this request
     */
    public ListTimers includePayload() {
        return put("include", List.of("payload"));
    }
}
