package io.punctual.client;

/** The service could not do it now: it is overloaded, restarts, or has failed. */
public final class UnavailableException extends PunctualException {
    private static final long serialVersionUID = 1L;

    UnavailableException(Failure failure) {
        super(failure);
    }
}
