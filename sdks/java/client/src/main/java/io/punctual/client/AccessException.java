package io.punctual.client;

/** The key is missing or wrong, or it does not have the right. */
public final class AccessException extends PunctualException {
    private static final long serialVersionUID = 1L;

    AccessException(Failure failure) {
        super(failure);
    }
}
