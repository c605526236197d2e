package io.punctual.client;

import java.util.Collection;
import java.util.List;

/** Which events to read. */
public final class StreamEvents extends Request<StreamEvents> {
    /** A request without fields. */
    public StreamEvents() {
        super(StreamEvents.class);
    }

    /**
     * Names, or prefixes such as {@code team-*}. All that the key may read when left out.
     *
     * @param namespaces the values
     * @return this request
     */
    public StreamEvents namespaces(String... namespaces) {
        return put("namespaces", List.of(namespaces));
    }

    /**
     * Names, or prefixes such as {@code team-*}. All that the key may read when left out.
     *
     * @param namespaces the values
     * @return this request
     */
    public StreamEvents namespaces(Collection<String> namespaces) {
        return put("namespaces", namespaces == null ? null : List.copyOf(namespaces));
    }

    /**
     * Types of events; all when left out.
     *
     * @param types the values
     * @return this request
     */
    public StreamEvents types(String... types) {
        return put("types", List.of(types));
    }

    /**
     * Types of events; all when left out.
     *
     * @param types the values
     * @return this request
     */
    public StreamEvents types(Collection<String> types) {
        return put("types", types == null ? null : List.copyOf(types));
    }

    /**
     * The id of the last event before an interruption of up to a minute.
     *
     * @param lastEventId a text
     * @return this request
     */
    public StreamEvents lastEventId(String lastEventId) {
        return put("lastEventId", lastEventId);
    }
}
