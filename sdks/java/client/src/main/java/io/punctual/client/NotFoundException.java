package io.punctual.client;

/** There is no such timer, key, job or message. */
public final class NotFoundException extends PunctualException {
    private static final long serialVersionUID = 1L;

    NotFoundException(Failure failure) {
        super(failure);
    }
}
