package io.punctual.client;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A timer, pending or finished.
 *
 * @param namespace the namespace
 * @param timerId your id of the timer
 * @param state what it does now, or how it ended
 * @param revision grows each time a timer with this id is armed. Send it as {@code ifRevision}
 * @param fireId new each time the timer is armed, and the same on all attempts
 * @param executeAt when it fires, or fired
 * @param fireAt when the next attempt is due
 * @param waiting why it has not started although it is due
 * @param attemptStartedAt when the attempt began that runs now
 * @param attempts how many attempts there were
 * @param lastAttempt the last attempt
 * @param attemptLog the attempts that the service still has
 * @param target where it is delivered
 * @param payload the payload with its exact text; empty once the timer was delivered or cancelled
 * @param retryPolicy when to try again
 * @param expireAfter how late the first attempt may start
 * @param onExpire what happens after that
 * @param onDead who is called when it is dead
 * @param correlationId your id that joins what belongs together
 * @param tags words to find it by
 * @param traceparent the trace that the webhook continues
 * @param createdAt when it was created
 * @param updatedAt when it changed last
 * @param finishedAt when it ended
 * @param latenessMs how late the successful attempt was
 * @param reason why it is dead, or was cancelled without a call
 * @param json the whole object, also with fields of a newer service
 */
public record Timer(
        String namespace,
        String timerId,
        TimerState state,
        long revision,
        String fireId,
        Instant executeAt,
        Optional<Instant> fireAt,
        Optional<Waiting> waiting,
        Optional<Instant> attemptStartedAt,
        int attempts,
        Optional<Attempt> lastAttempt,
        List<Attempt> attemptLog,
        Target target,
        Optional<Json> payload,
        Retries retryPolicy,
        Optional<Duration> expireAfter,
        Optional<OnExpire> onExpire,
        Optional<Target> onDead,
        String correlationId,
        List<String> tags,
        Optional<String> traceparent,
        Instant createdAt,
        Instant updatedAt,
        Optional<Instant> finishedAt,
        OptionalLong latenessMs,
        Optional<FinishReason> reason,
        Json json) {
    /**
     * The payload as a type of your own. See {@link Json#as}.
     *
     * @param <T> the type
     * @param type the class of the type
     * @return empty if there is no payload
     */
    public <T> Optional<T> payload(Class<T> type) {
        return payload.map(json -> json.as(type));
    }

    /** Without the payload, which must not get into logs. */
    @Override
    public String toString() {
        return "Timer[" + namespace + "/" + timerId + " " + state + " revision " + revision + "]";
    }
}
