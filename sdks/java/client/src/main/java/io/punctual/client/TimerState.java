package io.punctual.client;

/** What a timer does now, or how it ended. */
public enum TimerState {
    /** It waits for its time, or for its next attempt. */
    PENDING("pending"),
    /** An attempt runs. */
    IN_FLIGHT("inFlight"),
    /** The receiver has taken it. */
    DELIVERED("delivered"),
    /** Somebody cancelled it. */
    CANCELLED("cancelled"),
    /** It was given up. */
    DEAD("dead"),
    /** A value of a newer service. {@code json()} has its text. */
    UNKNOWN("unknown");

    private final String text;

    TimerState(String text) {
        this.text = text;
    }

    /** As in the contract. */
    @Override
    public String toString() {
        return text;
    }
}
