package io.punctual.client;

import java.time.Duration;
import java.util.Collection;
import java.util.List;

/** When to try again after a failed attempt. Give {@code waits}, or the other fields. */
public final class RetryPolicyInput extends Request<RetryPolicyInput> {
    /** A request without fields. */
    public RetryPolicyInput() {
        super(RetryPolicyInput.class);
    }

    /**
     * How many attempts there are at most.
     *
     * @param maxAttempts a whole number
     * @return this request
     */
    public RetryPolicyInput maxAttempts(int maxAttempts) {
        return put("maxAttempts", maxAttempts);
    }

    /**
     * The wait after the first failed attempt.
     *
     * @param initialInterval such as {@code 90s}, {@code 1h30m} or {@code 7d}
     * @return this request
     */
    public RetryPolicyInput initialInterval(String initialInterval) {
        return put("initialInterval", initialInterval);
    }

    /**
     * The wait after the first failed attempt.
     *
     * @param initialInterval in whole milliseconds
     * @return this request
     */
    public RetryPolicyInput initialInterval(Duration initialInterval) {
        return putDuration("initialInterval", initialInterval);
    }

    /**
     * How much longer each wait is than the one before.
     *
     * @param backoffMultiplier a number
     * @return this request
     */
    public RetryPolicyInput backoffMultiplier(double backoffMultiplier) {
        return put("backoffMultiplier", backoffMultiplier);
    }

    /**
     * The longest wait.
     *
     * @param maxInterval such as {@code 90s}, {@code 1h30m} or {@code 7d}
     * @return this request
     */
    public RetryPolicyInput maxInterval(String maxInterval) {
        return put("maxInterval", maxInterval);
    }

    /**
     * The longest wait.
     *
     * @param maxInterval in whole milliseconds
     * @return this request
     */
    public RetryPolicyInput maxInterval(Duration maxInterval) {
        return putDuration("maxInterval", maxInterval);
    }

    /**
     * The part of each wait that is random, from 0 to 1.
     *
     * @param jitter a number
     * @return this request
     */
    public RetryPolicyInput jitter(double jitter) {
        return put("jitter", jitter);
    }

    /**
     * How long after {@code executeAt} the last attempt may start.
     *
     * @param maxDuration such as {@code 90s}, {@code 1h30m} or {@code 7d}
     * @return this request
     */
    public RetryPolicyInput maxDuration(String maxDuration) {
        return put("maxDuration", maxDuration);
    }

    /**
     * How long after {@code executeAt} the last attempt may start.
     *
     * @param maxDuration in whole milliseconds
     * @return this request
     */
    public RetryPolicyInput maxDuration(Duration maxDuration) {
        return putDuration("maxDuration", maxDuration);
    }

    /**
     * The exact waits between attempts, such as {@code 1m}.
     *
     * @param waits the values
     * @return this request
     */
    public RetryPolicyInput waits(String... waits) {
        return put("waits", List.of(waits));
    }

    /**
     * The exact waits between attempts, such as {@code 1m}.
     *
     * @param waits the values
     * @return this request
     */
    public RetryPolicyInput waits(Collection<String> waits) {
        return put("waits", waits == null ? null : List.copyOf(waits));
    }
}
