package io.punctual.client;

import java.time.Instant;
import java.util.Collection;
import java.util.List;

/** What happened over time. */
public final class GetActivity extends Request<GetActivity> {
    /**
     * The span and the length of each step.
     *
     * @param from inclusive
     * @param until exclusive
     * @param step whole minutes or whole hours, such as {@code 1h}
     */
    public GetActivity(Instant from, Instant until, String step) {
        super(GetActivity.class);
        set("from", from).set("until", until).set("step", step);
    }

    /**
     * Names or prefixes such as {@code team-*}; the namespace of the client when left out.
     *
     * @param namespaces the values
     * @return this request
     */
    public GetActivity namespaces(String... namespaces) {
        return put("namespaces", List.of(namespaces));
    }

    /**
     * Names or prefixes such as {@code team-*}; the namespace of the client when left out.
     *
     * @param namespaces the values
     * @return this request
     */
    public GetActivity namespaces(Collection<String> namespaces) {
        return put("namespaces", namespaces == null ? null : List.copyOf(namespaces));
    }

    /**
     * Lateness apart for each namespace or host.
     *
     * @param by the value
     * @return this request
     */
    public GetActivity by(ActivityBy by) {
        return put("by", by);
    }
}
