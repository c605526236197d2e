package io.punctual.client;

import java.util.Collection;
import java.util.List;

/**
 * Selects timers of one namespace or of several.
 *
 * @param <R> the class of the request
 */
public abstract class ScopedRequest<R extends ScopedRequest<R>> extends FilterRequest<R> {
    /**
     * A request without fields.
     *
     * @param type the class of the request
     */
    protected ScopedRequest(Class<R> type) {
        super(type);
    }

    /**
     * One namespace; that of the client when left out.
     *
     * @param namespace a text
     * @return this request
     */
    public R namespace(String namespace) {
        return put("namespace", namespace);
    }

    /**
     * Up to 20 names or prefixes such as {@code team-*}, or {@code *} for all, instead of one namespace.
     *
     * @param namespaces the values
     * @return this request
     */
    public R namespaces(String... namespaces) {
        return put("namespaces", List.of(namespaces));
    }

    /**
     * Up to 20 names or prefixes such as {@code team-*}, or {@code *} for all, instead of one namespace.
     *
     * @param namespaces the values
     * @return this request
     */
    public R namespaces(Collection<String> namespaces) {
        return put("namespaces", namespaces == null ? null : List.copyOf(namespaces));
    }
}
