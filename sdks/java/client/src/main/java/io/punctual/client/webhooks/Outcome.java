package io.punctual.client.webhooks;

import io.punctual.client.Durations;
import io.punctual.client.Json;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/** What your function says about a timer: {@code return Outcome.delivered();}. */
public sealed interface Outcome permits Outcome.Delivered, Outcome.Again, Outcome.Retry, Outcome.Dead {
    /**
     * The work is done.
     *
     * @return the timer is delivered
     */
    static Outcome delivered() {
        return new Delivered();
    }

    /**
     * The work is done, and the timer fires again after a delay.
     *
     * @param delay such as {@code 1d}
     * @return the timer is delivered, and armed again with the same payload
     */
    static Again again(String delay) {
        return new Again(Optional.of(durationText(delay)), Optional.empty(), Optional.empty());
    }

    /**
     * The work is done, and the timer fires again after a delay.
     *
     * @param delay the delay
     * @return the timer is delivered, and armed again with the same payload
     */
    static Again again(Duration delay) {
        return again(Durations.text(delay));
    }

    /**
     * The work is done, and the timer fires again at an instant.
     *
     * @param executeAt the instant
     * @return the timer is delivered, and armed again with the same payload
     */
    static Again againAt(Instant executeAt) {
        return new Again(Optional.empty(), Optional.of(executeAt), Optional.empty());
    }

    /**
     * This attempt failed. The retry policy says when the next one is.
     *
     * @return another attempt
     */
    static Outcome retry() {
        return new Retry(Optional.empty());
    }

    /**
     * This attempt failed, and the next one is after this time.
     *
     * @param after such as {@code 5m}
     * @return another attempt
     */
    static Outcome retry(String after) {
        return new Retry(Optional.of(durationText(after)));
    }

    /**
     * This attempt failed, and the next one is after this time.
     *
     * @param after the wait
     * @return another attempt
     */
    static Outcome retry(Duration after) {
        return retry(Durations.text(after));
    }

    /**
     * No attempt can succeed.
     *
     * @param reason why; the last attempt of the dead letter shows it
     * @return the timer becomes a dead letter
     */
    static Outcome dead(String reason) {
        return new Dead(reason);
    }

    private static String durationText(String text) {
        if (Durations.parse(text).isPresent()) return text;
        throw new IllegalArgumentException("must be a duration such as 90s, 1h30m or 7d");
    }

    /** The timer is delivered. */
    record Delivered() implements Outcome {}

    /**
     * The timer is delivered, and armed again.
     *
     * @param nextDelay after this delay
     * @param nextExecuteAt or at this instant
     * @param payload the new payload; the old one if empty
     */
    record Again(Optional<String> nextDelay, Optional<Instant> nextExecuteAt, Optional<Object> payload)
            implements Outcome {
        /**
         * The same with a new payload.
         *
         * @param changed what {@link io.punctual.client.Json#of} takes; {@code null} is sent as null
         * @return an outcome
         */
        public Again withPayload(Object changed) {
            return new Again(nextDelay, nextExecuteAt, Optional.of(changed == null ? Json.NULL : changed));
        }

        /** Without the payload, which must not get into logs. */
        @Override
        public String toString() {
            return "Again[" + nextDelay.or(() -> nextExecuteAt.map(Instant::toString)).orElse("") + "]";
        }
    }

    /**
     * The attempt failed, and another one follows. It counts as an attempt, but not for the breaker of the host.
     *
     * @param after the wait; by the retry policy if empty
     */
    record Retry(Optional<String> after) implements Outcome {}

    /**
     * The timer becomes a dead letter.
     *
     * @param reason why
     */
    record Dead(String reason) implements Outcome {}
}
