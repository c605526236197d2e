package io.punctual.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * A list that the service answers in pages: {@code for (Timer timer : timers.list())}. It reads each page when it is
 * needed, and nothing is sent before the first item is asked for.
 *
 * @param <T> what the list has
 */
public final class Paged<T> implements Iterable<T> {
    private final Function<Map<String, Object>, CompletableFuture<Page<T>>> reader;
    private final Map<String, Object> fields;

    Paged(Map<String, Object> fields, Function<Map<String, Object>, CompletableFuture<Page<T>>> reader) {
        this.fields = fields;
        this.reader = reader;
    }

    /**
     * The same list in longer or shorter pages.
     *
     * @param limit how many items a page has at most: up to 1,000, and 100 by default
     * @return a list
     */
    public Paged<T> withPageSize(int limit) {
        return with("limit", limit);
    }

    /**
     * The same list from another place on.
     *
     * @param cursor the {@code nextCursor} of an earlier page
     * @return a list
     */
    public Paged<T> withCursor(String cursor) {
        return with("cursor", cursor);
    }

    private Paged<T> with(String name, Object value) {
        Map<String, Object> changed = new LinkedHashMap<>(fields);
        changed.put(name, value);
        return new Paged<>(changed, reader);
    }

    /**
     * Reads the first page.
     *
     * @return the page
     */
    public Page<T> page() {
        return CancellableFuture.await(this::pageAsync);
    }

    /**
     * {@link #page()} without blocking.
     *
     * @return the page
     */
    public CompletableFuture<Page<T>> pageAsync() {
        return reader.apply(fields);
    }

    /**
     * All pages, one after the other. Each is read when it is needed.
     *
     * @return the pages
     */
    public Iterable<Page<T>> pages() {
        return Pages::new;
    }

    /** All items. */
    @Override
    public Iterator<T> iterator() {
        return new Items();
    }

    /**
     * All items as a stream, which reads each page when it is needed.
     *
     * @return a sequential stream
     */
    public Stream<T> stream() {
        return StreamSupport.stream(spliterator(), false);
    }

    /**
     * The first items of the list.
     *
     * @param limit how many at most
     * @return a list that cannot be changed
     */
    public List<T> toList(int limit) {
        if (limit < 1) throw new IllegalArgumentException("limit must be at least 1");
        List<T> items = new ArrayList<>();
        for (Page<T> page : pages()) {
            List<T> found = page.items();
            items.addAll(found.subList(0, Math.min(found.size(), limit - items.size())));
            if (items.size() >= limit) break;
        }
        return Collections.unmodifiableList(items);
    }

    private final class Pages implements Iterator<Page<T>> {
        private Optional<String> cursor = Optional.empty();
        private boolean isFirst = true;

        @Override
        public boolean hasNext() {
            return isFirst || cursor.isPresent();
        }

        @Override
        public Page<T> next() {
            if (!hasNext()) throw new NoSuchElementException();
            Page<T> page = (isFirst ? Paged.this : withCursor(cursor.orElseThrow())).page();
            if (page.nextCursor().isPresent() && page.nextCursor().equals(cursor)) {
                throw new IllegalStateException("the service answered the same cursor again: the list would not end");
            }
            isFirst = false;
            cursor = page.nextCursor();
            return page;
        }
    }

    private final class Items implements Iterator<T> {
        private final Iterator<Page<T>> pages = new Pages();
        private Iterator<T> items = Collections.emptyIterator();

        @Override
        public boolean hasNext() {
            while (!items.hasNext() && pages.hasNext())
                items = pages.next().items().iterator();
            return items.hasNext();
        }

        @Override
        public T next() {
            if (!hasNext()) throw new NoSuchElementException();
            return items.next();
        }
    }
}
