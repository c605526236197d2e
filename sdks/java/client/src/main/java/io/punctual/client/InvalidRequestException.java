package io.punctual.client;

/** The request is wrong: the service refused it, or the client did not even send it. */
public final class InvalidRequestException extends PunctualException {
    private static final long serialVersionUID = 1L;

    InvalidRequestException(Failure failure) {
        super(failure);
    }
}
