package io.punctual.client;

/** How an attempt failed. */
public enum FailureKind {
    /** No answer in time. */
    TIMEOUT("timeout"),
    /** No connection, or a broken one. */
    NETWORK("network"),
    /** A status from 400 to 499. */
    CLIENT_ERROR("4xx"),
    /** A status from 500 to 599. */
    SERVER_ERROR("5xx");

    private final String text;

    FailureKind(String text) {
        this.text = text;
    }

    /** As in the contract. */
    @Override
    public String toString() {
        return text;
    }
}
