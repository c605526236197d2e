package io.punctual.client;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A failed call. Its class says which family it is, {@link #code()} says what happened, and {@link #written()} says
 * whether the call may have changed anything.
 */
public abstract sealed class PunctualException extends RuntimeException
        permits InvalidRequestException,
                AccessException,
                NotFoundException,
                ConflictException,
                QuotaException,
                UnavailableException,
                ConnectionException {
    private static final long serialVersionUID = 1L;

    /** What happened. */
    private final String code;
    /** The HTTP status. Null if nothing answered. */
    private final Integer status;
    /** The id of the request. Null if the service did not answer. */
    private final String requestId;
    /** Null if there is none. An exception that was serialized has lost this part. */
    private final transient ProblemDocument problem;
    /** Whether the call may have changed anything. */
    private final Written written;
    /** Whether the same call may succeed later. */
    private final boolean isRetryable;
    /** How long to wait. Null if the service does not say. */
    private final Duration retryAfter;

    PunctualException(Failure failure) {
        super(failure.message(), failure.cause());
        code = failure.code();
        status = failure.status();
        requestId = failure.requestId();
        problem = failure.problem();
        written = failure.written();
        isRetryable = failure.isRetryable();
        retryAfter = failure.retryAfter();
    }

    Failure failure() {
        return new Failure(
                code, getMessage(), status, requestId, problem, written, isRetryable, retryAfter, getCause());
    }

    /**
     * What happened.
     *
     * @return one of {@link ErrorCode}, or the code of a newer service
     */
    public String code() {
        return code;
    }

    /**
     * The HTTP status.
     *
     * @return empty if nothing answered
     */
    public OptionalInt status() {
        return status == null ? OptionalInt.empty() : OptionalInt.of(status);
    }

    /**
     * The id of the request in the logs of the service.
     *
     * @return empty if the service did not answer
     */
    public Optional<String> requestId() {
        return Optional.ofNullable(requestId);
    }

    /**
     * The problem document.
     *
     * @return empty if the service did not answer one, or if the exception was serialized
     */
    public Optional<ProblemDocument> problem() {
        return Optional.ofNullable(problem);
    }

    /**
     * Whether the call may have changed anything. It counts for all tries together.
     *
     * @return {@code NO}, or {@code UNKNOWN}
     */
    public Written written() {
        return written;
    }

    /**
     * Whether the same call may succeed later, without any change. Look at {@link #written()} before you repeat it.
     *
     * @return true if it may
     */
    public boolean isRetryable() {
        return isRetryable;
    }

    /**
     * How long the service asks to wait, with 429 and 503.
     *
     * @return empty if it does not say
     */
    public Optional<Duration> retryAfter() {
        return Optional.ofNullable(retryAfter);
    }
}
