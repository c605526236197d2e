package io.punctual.client;

import java.time.Duration;
import java.util.Optional;

/**
 * What a client tells about its calls, for metrics and traces. A hook sees no payloads and no keys. If it throws, the
 * call goes on. Hooks can run in any thread and must not block.
 */
public interface Hooks {
    /**
     * Before each try.
     *
     * @param event what is sent
     */
    default void onRequest(RequestEvent event) {}

    /**
     * After each try that succeeded.
     *
     * @param event what came back
     */
    default void onAnswer(AnswerEvent event) {}

    /**
     * After each try that failed. The client may try again.
     *
     * @param event what failed
     */
    default void onFailure(FailureEvent event) {}

    /**
     * A try that begins.
     *
     * @param operation such as {@code timers.create}
     * @param attempt the first try is 1
     */
    record RequestEvent(String operation, int attempt) {}

    /**
     * A try that succeeded.
     *
     * @param operation such as {@code timers.create}
     * @param attempt the first try is 1
     * @param status the HTTP status
     * @param requestId the id of the request in the logs of the service
     * @param duration how long the try took
     */
    record AnswerEvent(String operation, int attempt, int status, Optional<String> requestId, Duration duration) {}

    /**
     * A try that failed.
     *
     * @param operation such as {@code timers.create}
     * @param attempt the first try is 1
     * @param exception why it failed
     * @param duration how long the try took
     */
    record FailureEvent(String operation, int attempt, PunctualException exception, Duration duration) {}
}
