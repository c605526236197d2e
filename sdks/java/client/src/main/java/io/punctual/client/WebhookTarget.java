package io.punctual.client;

import java.time.Duration;
import java.util.Map;

/**
 * The complete webhook of a timer.
 *
 * @param url the endpoint
 * @param method the HTTP method
 * @param headers headers of the request
 * @param timeout how long the receiver may take to answer
 * @param body what the body has
 */
public record WebhookTarget(
        String url, WebhookMethod method, Map<String, String> headers, Duration timeout, WebhookBody body)
        implements Target {
    /** Without the values of the headers, which can be secrets and must not get into logs. */
    @Override
    public String toString() {
        return "WebhookTarget[" + method + " " + url + " headers=" + headers.keySet() + "]";
    }
}
