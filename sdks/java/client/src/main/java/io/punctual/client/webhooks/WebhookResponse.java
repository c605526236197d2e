package io.punctual.client.webhooks;

import io.punctual.client.Json;
import java.util.Map;

/**
 * What an endpoint answers.
 *
 * @param status the HTTP status
 * @param headers the headers
 * @param body the body, in UTF-8
 */
public record WebhookResponse(int status, Map<String, String> headers, String body) {
    /** Without the body, which can have a payload, and must not get into logs. */
    @Override
    public String toString() {
        return "WebhookResponse[" + status + "]";
    }

    /**
     * A short text for people.
     *
     * @param status the HTTP status
     * @param text the text
     * @return a response
     */
    public static WebhookResponse text(int status, String text) {
        return new WebhookResponse(status, Map.of("content-type", "text/plain; charset=utf-8"), text);
    }

    /**
     * JSON.
     *
     * @param status the HTTP status
     * @param value what {@link Json#of} takes
     * @return a response
     */
    public static WebhookResponse json(int status, Object value) {
        return new WebhookResponse(
                status,
                Map.of("content-type", "application/json"),
                Json.of(value).text());
    }
}
