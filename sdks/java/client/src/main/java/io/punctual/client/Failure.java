package io.punctual.client;

import java.time.Duration;

/** What is known about a failed call. The parts that may be null are those that only an answer has. */
record Failure(
        String code,
        String message,
        Integer status,
        String requestId,
        ProblemDocument problem,
        Written written,
        boolean isRetryable,
        Duration retryAfter,
        Throwable cause) {

    /** A failure without an answer. */
    static Failure withoutAnswer(String code, String message, Written written, boolean isRetryable, Throwable cause) {
        return new Failure(code, message, null, null, null, written, isRetryable, null, cause);
    }

    Failure withWritten(Written changed) {
        return new Failure(code, message, status, requestId, problem, changed, isRetryable, retryAfter, cause);
    }

    Failure withCause(Throwable changed) {
        return new Failure(code, message, status, requestId, problem, written, isRetryable, retryAfter, changed);
    }
}
