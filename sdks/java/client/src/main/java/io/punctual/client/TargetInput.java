package io.punctual.client;

import java.time.Duration;
import java.util.Map;

/** Where a timer is delivered. */
public final class TargetInput extends Request<TargetInput> {
    private TargetInput(String type) {
        super(TargetInput.class);
        set("type", type);
    }

    /**
     * A webhook.
     *
     * @param url the endpoint
     * @return a target that the other methods change
     */
    public static TargetInput webhook(String url) {
        return new TargetInput("webhook").set("url", url);
    }

    /**
     * An event on the message bus.
     *
     * @return a target
     */
    public static TargetInput event() {
        return new TargetInput("event");
    }

    /**
     * The HTTP method: {@code POST} when left out.
     *
     * @param method the value
     * @return this request
     */
    public TargetInput method(WebhookMethod method) {
        return put("method", method);
    }

    /**
     * Headers of the request.
     *
     * @param headers texts by name
     * @return this request
     */
    public TargetInput headers(Map<String, String> headers) {
        return put("headers", headers);
    }

    /**
     * How long the receiver may take to answer: 15 s when left out.
     *
     * @param timeout such as {@code 90s}, {@code 1h30m} or {@code 7d}
     * @return this request
     */
    public TargetInput timeout(String timeout) {
        return put("timeout", timeout);
    }

    /**
     * How long the receiver may take to answer: 15 s when left out.
     *
     * @param timeout in whole milliseconds
     * @return this request
     */
    public TargetInput timeout(Duration timeout) {
        return putDuration("timeout", timeout);
    }

    /**
     * {@code PAYLOAD} sends the payload alone, for endpoints that you cannot change.
     *
     * @param body the value
     * @return this request
     */
    public TargetInput body(WebhookBody body) {
        return put("body", body);
    }
}
