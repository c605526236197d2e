package io.punctual.client;

import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;

/** Fields of a timer to change. A field that is not set stays as it is. */
public final class UpdateTimer extends Request<UpdateTimer> {
    /**
     * Which timer to change.
     *
     * @param timerId your id of the timer
     */
    public UpdateTimer(String timerId) {
        super(UpdateTimer.class);
        set("timerId", timerId);
    }

    /**
     * The namespace; that of the client when left out.
     *
     * @param namespace a text
     * @return this request
     */
    public UpdateTimer namespace(String namespace) {
        return put("namespace", namespace);
    }

    /**
     * When the timer fires.
     *
     * @param executeAt an instant
     * @return this request
     */
    public UpdateTimer executeAt(Instant executeAt) {
        return put("executeAt", executeAt);
    }

    /**
     * When the timer fires.
     *
     * @param executeAt ISO 8601 with an offset, such as {@code 2030-01-15T09:00:00+01:00}
     * @return this request
     */
    public UpdateTimer executeAt(String executeAt) {
        return put("executeAt", executeAt);
    }

    /**
     * How long from now until the timer fires.
     *
     * @param delay such as {@code 90s}, {@code 1h30m} or {@code 7d}
     * @return this request
     */
    public UpdateTimer delay(String delay) {
        return put("delay", delay);
    }

    /**
     * How long from now until the timer fires.
     *
     * @param delay in whole milliseconds
     * @return this request
     */
    public UpdateTimer delay(Duration delay) {
        return putDuration("delay", delay);
    }

    /**
     * Where the timer is delivered: short for a webhook with the defaults.
     *
     * @param callbackUrl a text
     * @return this request
     */
    public UpdateTimer callbackUrl(String callbackUrl) {
        return put("callbackUrl", callbackUrl);
    }

    /**
     * Where the timer is delivered.
     *
     * @param target the value
     * @return this request
     */
    public UpdateTimer target(TargetInput target) {
        return put("target", target);
    }

    /**
     * What the receiver gets.
     *
     * @param payload any value that {@link Json#of} takes; {@code null} clears it
     * @return this request
     */
    public UpdateTimer payload(Object payload) {
        return set("payload", payload);
    }

    /**
     * When to try again after a failed attempt.
     *
     * @param retryPolicy the value; {@code null} clears it
     * @return this request
     */
    public UpdateTimer retryPolicy(RetryPolicyInput retryPolicy) {
        return set("retryPolicy", retryPolicy);
    }

    /**
     * If the first attempt has not started this long after {@code executeAt}, the timer is dead.
     *
     * @param expireAfter such as {@code 90s}, {@code 1h30m} or {@code 7d}; {@code null} clears it
     * @return this request
     */
    public UpdateTimer expireAfter(String expireAfter) {
        return set("expireAfter", expireAfter);
    }

    /**
     * If the first attempt has not started this long after {@code executeAt}, the timer is dead.
     *
     * @param expireAfter in whole milliseconds; {@code null} clears it
     * @return this request
     */
    public UpdateTimer expireAfter(Duration expireAfter) {
        return set("expireAfter", expireAfter == null ? null : textOf("expireAfter", expireAfter));
    }

    /**
     * What happens to an expired timer.
     *
     * @param onExpire the value
     * @return this request
     */
    public UpdateTimer onExpire(OnExpire onExpire) {
        return put("onExpire", onExpire);
    }

    /**
     * Who is called when the timer is dead.
     *
     * @param onDead the value; {@code null} clears it
     * @return this request
     */
    public UpdateTimer onDead(TargetInput onDead) {
        return set("onDead", onDead);
    }

    /**
     * An id of yours that joins what belongs together.
     *
     * @param correlationId a text
     * @return this request
     */
    public UpdateTimer correlationId(String correlationId) {
        return put("correlationId", correlationId);
    }

    /**
     * Words to find the timer by.
     *
     * @param tags the values
     * @return this request
     */
    public UpdateTimer tags(String... tags) {
        return put("tags", List.of(tags));
    }

    /**
     * Words to find the timer by.
     *
     * @param tags the values; {@code null} clears them
     * @return this request
     */
    public UpdateTimer tags(Collection<String> tags) {
        return set("tags", tags == null ? null : List.copyOf(tags));
    }

    /**
     * Change the timer only if it still has this revision. Then the client can repeat the call.
     *
     * @param ifRevision a whole number
     * @return this request
     */
    public UpdateTimer ifRevision(long ifRevision) {
        return put("ifRevision", ifRevision);
    }
}
