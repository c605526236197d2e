package io.punctual.client.testing;

import io.punctual.client.Json;
import io.punctual.client.Punctual;
import io.punctual.client.webhooks.Signatures;
import io.punctual.client.webhooks.WebhookRequest;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Requests as Punctual sends them, for tests of handlers without a service:
 *
 * <pre>{@code
 * handler.handle(new SignedRequest(secret).payload(Map.of("order", 7)).build());
 * }</pre>
 */
public final class SignedRequest {
    private final String secret;
    private final long nowMs = System.currentTimeMillis();
    private final Map<String, Object> fields = new LinkedHashMap<>();

    /**
     * A request with this signature.
     *
     * @param secret the secret of the handler; null for a request without a signature
     */
    public SignedRequest(String secret) {
        this.secret = secret;
        fields.put("type", "timer.fired");
        fields.put("namespace", "test");
        fields.put("timerId", "timer-1");
        fields.put("fireId", Punctual.newTimerId());
        fields.put("attempt", 1);
        fields.put("maxAttempts", 10);
        fields.put("epoch", 1);
        fields.put("revision", nowMs);
        fields.put("executeAt", Instant.ofEpochMilli(nowMs));
        fields.put("firedAt", Instant.ofEpochMilli(nowMs));
        fields.put("correlationId", "test");
    }

    /**
     * The payload.
     *
     * @param payload what {@link Json#of} takes
     * @return this request
     */
    public SignedRequest payload(Object payload) {
        return field("payload", payload);
    }

    /**
     * The tags of the timer.
     *
     * @param tags the tags
     * @return this request
     */
    public SignedRequest tags(String... tags) {
        return field("tags", List.of(tags));
    }

    /**
     * The id of the timer.
     *
     * @param timerId its id
     * @return this request
     */
    public SignedRequest timerId(String timerId) {
        return field("timerId", timerId);
    }

    /**
     * The id of the firing.
     *
     * @param fireId its id
     * @return this request
     */
    public SignedRequest fireId(String fireId) {
        return field("fireId", fireId);
    }

    /**
     * The number of the attempt.
     *
     * @param attempt the first attempt is 1
     * @return this request
     */
    public SignedRequest attempt(int attempt) {
        return field("attempt", attempt);
    }

    /**
     * Any other field of the envelope.
     *
     * @param name such as {@code namespace}
     * @param value its value
     * @return this request
     */
    public SignedRequest field(String name, Object value) {
        fields.put(name, value);
        return this;
    }

    /**
     * Makes the request.
     *
     * @return a request, which can be handled once
     */
    public WebhookRequest build() {
        byte[] body = Json.of(fields).text().getBytes(StandardCharsets.UTF_8);
        String fireId = fields.get("fireId").toString();
        long timestampSeconds = nowMs / 1000;
        Map<String, List<String>> headers = new LinkedHashMap<>();
        headers.put("content-type", List.of("application/json"));
        headers.put("webhook-id", List.of(fireId));
        headers.put("webhook-timestamp", List.of(Long.toString(timestampSeconds)));
        if (secret != null) {
            headers.put("webhook-signature", List.of(Signatures.sign(fireId, timestampSeconds, body, secret)));
        }
        headers.put("punctual-namespace", List.of(fields.get("namespace").toString()));
        headers.put("punctual-timer-id", List.of(encoded(fields.get("timerId"))));
        headers.put(
                "punctual-execute-at", List.of(Json.of(fields.get("executeAt")).as(String.class)));
        headers.put("punctual-attempt", List.of(fields.get("attempt").toString()));
        headers.put("punctual-epoch", List.of(fields.get("epoch").toString()));
        if (fields.get("tags") instanceof List<?> tags) {
            headers.put(
                    "punctual-tags",
                    List.of(tags.stream().map(SignedRequest::encoded).collect(Collectors.joining(","))));
        }
        return new WebhookRequest(headers, body);
    }

    /** Percent-encoding without the plus sign of forms. */
    private static String encoded(Object text) {
        return URLEncoder.encode(text.toString(), StandardCharsets.UTF_8).replace("+", "%20");
    }
}
