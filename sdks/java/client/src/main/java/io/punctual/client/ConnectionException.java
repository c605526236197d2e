package io.punctual.client;

/** There was no usable answer: no connection, a broken one, a time-out, or an interrupted caller. */
public final class ConnectionException extends PunctualException {
    private static final long serialVersionUID = 1L;

    ConnectionException(Failure failure) {
        super(failure);
    }
}
