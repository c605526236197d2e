package io.punctual.client;

/** A quota is used up. {@link #retryAfter()} says when to try again. */
public final class QuotaException extends PunctualException {
    private static final long serialVersionUID = 1L;

    QuotaException(Failure failure) {
        super(failure);
    }
}
