package io.punctual.client;

import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;

/**
 * A timer to create. Give one of {@code executeAt} and {@code delay}, and one of {@code callbackUrl} and {@code
 * target}.
 *
 * <pre>{@code
 * new CreateTimer().timerId("trial-42").delay("14d").callbackUrl("https://shop.example/hooks")
 * }</pre>
 */
public final class CreateTimer extends Request<CreateTimer> {
    /** A request without fields. */
    public CreateTimer() {
        super(CreateTimer.class);
    }

    /**
     * The namespace; that of the client when left out.
     *
     * @param namespace a text
     * @return this request
     */
    public CreateTimer namespace(String namespace) {
        return put("namespace", namespace);
    }

    /**
     * Your id of the timer. The client makes a UUID v7 when left out, so that it can repeat the call.
     *
     * @param timerId a text
     * @return this request
     */
    public CreateTimer timerId(String timerId) {
        return put("timerId", timerId);
    }

    /**
     * When the timer fires. Give this or {@code delay}.
     *
     * @param executeAt an instant
     * @return this request
     */
    public CreateTimer executeAt(Instant executeAt) {
        return put("executeAt", executeAt);
    }

    /**
     * When the timer fires. Give this or {@code delay}.
     *
     * @param executeAt ISO 8601 with an offset, such as {@code 2030-01-15T09:00:00+01:00}
     * @return this request
     */
    public CreateTimer executeAt(String executeAt) {
        return put("executeAt", executeAt);
    }

    /**
     * How long until the timer fires. The client sends it as {@code executeAt}, so that a repeat does not move the
     * timer.
     *
     * @param delay such as {@code 90s}, {@code 1h30m} or {@code 7d}
     * @return this request
     */
    public CreateTimer delay(String delay) {
        return put("delay", delay);
    }

    /**
     * How long until the timer fires. The client sends it as {@code executeAt}, so that a repeat does not move the
     * timer.
     *
     * @param delay in whole milliseconds
     * @return this request
     */
    public CreateTimer delay(Duration delay) {
        return putDuration("delay", delay);
    }

    /**
     * Where the timer is delivered: short for a webhook with the defaults. Give this or {@code target}.
     *
     * @param callbackUrl a text
     * @return this request
     */
    public CreateTimer callbackUrl(String callbackUrl) {
        return put("callbackUrl", callbackUrl);
    }

    /**
     * Where the timer is delivered.
     *
     * @param target the value
     * @return this request
     */
    public CreateTimer target(TargetInput target) {
        return put("target", target);
    }

    /**
     * What the receiver gets. Pass {@link Json#parse} if the exact text counts.
     *
     * @param payload any value that {@link Json#of} takes
     * @return this request
     */
    public CreateTimer payload(Object payload) {
        return put("payload", payload);
    }

    /**
     * When to try again after a failed attempt.
     *
     * @param retryPolicy the value
     * @return this request
     */
    public CreateTimer retryPolicy(RetryPolicyInput retryPolicy) {
        return put("retryPolicy", retryPolicy);
    }

    /**
     * If the first attempt has not started this long after {@code executeAt}, the timer is dead.
     *
     * @param expireAfter such as {@code 90s}, {@code 1h30m} or {@code 7d}
     * @return this request
     */
    public CreateTimer expireAfter(String expireAfter) {
        return put("expireAfter", expireAfter);
    }

    /**
     * If the first attempt has not started this long after {@code executeAt}, the timer is dead.
     *
     * @param expireAfter in whole milliseconds
     * @return this request
     */
    public CreateTimer expireAfter(Duration expireAfter) {
        return putDuration("expireAfter", expireAfter);
    }

    /**
     * What happens to an expired timer: {@code DEAD} when left out.
     *
     * @param onExpire the value
     * @return this request
     */
    public CreateTimer onExpire(OnExpire onExpire) {
        return put("onExpire", onExpire);
    }

    /**
     * Who is called when the timer is dead.
     *
     * @param onDead the value
     * @return this request
     */
    public CreateTimer onDead(TargetInput onDead) {
        return put("onDead", onDead);
    }

    /**
     * An id of yours that joins what belongs together.
     *
     * @param correlationId a text
     * @return this request
     */
    public CreateTimer correlationId(String correlationId) {
        return put("correlationId", correlationId);
    }

    /**
     * Words to find the timer by, and to choose the function that handles it.
     *
     * @param tags the values
     * @return this request
     */
    public CreateTimer tags(String... tags) {
        return put("tags", List.of(tags));
    }

    /**
     * Words to find the timer by, and to choose the function that handles it.
     *
     * @param tags the values
     * @return this request
     */
    public CreateTimer tags(Collection<String> tags) {
        return put("tags", tags == null ? null : List.copyOf(tags));
    }

    /**
     * The trace (W3C Trace Context) that the webhook continues.
     *
     * @param traceparent a text
     * @return this request
     */
    public CreateTimer traceparent(String traceparent) {
        return put("traceparent", traceparent);
    }

    /**
     * What to do if a timer with this id is pending: {@code REPLACE} when left out.
     *
     * @param onExisting the value
     * @return this request
     */
    public CreateTimer onExisting(OnExisting onExisting) {
        return put("onExisting", onExisting);
    }
}
