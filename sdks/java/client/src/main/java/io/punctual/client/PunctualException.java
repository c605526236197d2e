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

    /** An exception that was serialized has lost this part. */
    private final transient Failure failure;

    PunctualException(Failure failure) {
        super(failure.message(), failure.cause());
        this.failure = failure;
    }

    Failure failure() {
        return failure;
    }

    /**
     * What happened.
     *
     * @return one of {@link ErrorCode}, or the code of a newer service
     */
    public String code() {
        return failure.code();
    }

    /**
     * The HTTP status.
     *
     * @return empty if nothing answered
     */
    public OptionalInt status() {
        return failure.status() == null ? OptionalInt.empty() : OptionalInt.of(failure.status());
    }

    /**
     * The id of the request in the logs of the service.
     *
     * @return empty if the service did not answer
     */
    public Optional<String> requestId() {
        return Optional.ofNullable(failure.requestId());
    }

    /**
     * The problem document.
     *
     * @return empty if the service did not answer one
     */
    public Optional<ProblemDocument> problem() {
        return Optional.ofNullable(failure.problem());
    }

    /**
     * Whether the call may have changed anything. It counts for all tries together.
     *
     * @return {@code NO}, or {@code UNKNOWN}
     */
    public Written written() {
        return failure.written();
    }

    /**
     * Whether the same call may succeed later, without any change. Look at {@link #written()} before you repeat it.
     *
     * @return true if it may
     */
    public boolean isRetryable() {
        return failure.isRetryable();
    }

    /**
     * How long the service asks to wait, with 429 and 503.
     *
     * @return empty if it does not say
     */
    public Optional<Duration> retryAfter() {
        return Optional.ofNullable(failure.retryAfter());
    }
}
