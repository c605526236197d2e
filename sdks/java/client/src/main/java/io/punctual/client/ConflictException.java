package io.punctual.client;

/** The state does not allow the call: the timer exists, has another revision, or is being delivered. */
public final class ConflictException extends PunctualException {
    private static final long serialVersionUID = 1L;

    ConflictException(Failure failure) {
        super(failure);
    }
}
