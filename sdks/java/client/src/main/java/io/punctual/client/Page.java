package io.punctual.client;

import java.util.List;
import java.util.Optional;

/**
 * One page of a list.
 *
 * @param <T> what the list has
 * @param items the items of the page
 * @param nextCursor where the next page begins; empty on the last page. A page can be empty and still have one
 * @param json the whole answer, with fields that only some lists have, such as {@code examined}
 */
public record Page<T>(List<T> items, Optional<String> nextCursor, Json json) {
    /** The items as they show themselves, without the whole answer: payloads must not get into logs. */
    @Override
    public String toString() {
        return "Page[items=" + items + ", nextCursor=" + nextCursor.orElse("none") + "]";
    }
}
