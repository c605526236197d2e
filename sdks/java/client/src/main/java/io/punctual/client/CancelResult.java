package io.punctual.client;

/** What a cancel did. */
public enum CancelResult {
    /** No attempt starts from now on. */
    CANCELLED("cancelled"),
    /** One attempt runs and cannot be stopped; no other follows. */
    IN_FLIGHT("inFlight"),
    /** The timer was delivered before. */
    ALREADY_DELIVERED("alreadyDelivered"),
    /** The timer was cancelled before. */
    ALREADY_CANCELLED("alreadyCancelled"),
    /** The timer is a dead letter. */
    ALREADY_DEAD("alreadyDead"),
    /** A value of a newer service. {@code json()} has its text. */
    UNKNOWN("unknown");

    private final String text;

    CancelResult(String text) {
        this.text = text;
    }

    /** As in the contract. */
    @Override
    public String toString() {
        return text;
    }
}
