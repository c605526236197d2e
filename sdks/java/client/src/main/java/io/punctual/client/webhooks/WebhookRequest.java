package io.punctual.client.webhooks;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** A request as it arrives at an endpoint. Its body must be unread: a signature is about its exact bytes. */
public final class WebhookRequest {
    private final Map<String, List<String>> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    private final InputStream body;

    /**
     * A request whose body is not read yet. {@link WebhookHandler} reads it up to its limit.
     *
     * @param headers the headers; upper and lower case are the same
     * @param body the body
     */
    public WebhookRequest(Map<String, List<String>> headers, InputStream body) {
        this.headers.putAll(headers);
        this.body = body;
    }

    /**
     * A request whose body is in memory.
     *
     * @param headers the headers; upper and lower case are the same
     * @param body the exact bytes of the body
     */
    public WebhookRequest(Map<String, List<String>> headers, byte[] body) {
        this(headers, new ByteArrayInputStream(body));
    }

    /**
     * One header.
     *
     * @param name its name, in upper or lower case
     * @return its values, joined by commas; empty if there is none
     */
    public Optional<String> header(String name) {
        List<String> values = headers.getOrDefault(name, List.of());
        return values.isEmpty() ? Optional.empty() : Optional.of(String.join(", ", values));
    }

    /**
     * All headers.
     *
     * @return the values by name
     */
    public Map<String, List<String>> headers() {
        return java.util.Collections.unmodifiableMap(headers);
    }

    /**
     * The body.
     *
     * @return a stream that can be read once
     */
    public InputStream body() {
        return body;
    }
}
