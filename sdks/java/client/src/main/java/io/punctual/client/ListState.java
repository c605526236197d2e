package io.punctual.client;

/** The states of lists. */
public enum ListState {
    /** Pending timers, also those in flight. */
    PENDING("pending"),
    /** Delivered timers. */
    DELIVERED("delivered"),
    /** Cancelled timers. */
    CANCELLED("cancelled"),
    /** Dead letters. */
    DEAD("dead");

    private final String text;

    ListState(String text) {
        this.text = text;
    }

    /** As in the contract. */
    @Override
    public String toString() {
        return text;
    }
}
