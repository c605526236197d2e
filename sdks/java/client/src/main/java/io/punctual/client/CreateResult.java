package io.punctual.client;

/** What a create did. */
public enum CreateResult {
    /** There is a new timer. */
    CREATED("created"),
    /** The new timer took the place of a pending one. */
    REPLACED("replaced"),
    /** The timer was there already, so nothing changed. */
    UNCHANGED("unchanged"),
    /** The same timer has finished, so nothing changed. */
    ALREADY_FINISHED("alreadyFinished"),
    /** A value of a newer service. {@code json()} has its text. */
    UNKNOWN("unknown");

    private final String text;

    CreateResult(String text) {
        this.text = text;
    }

    /** As in the contract. */
    @Override
    public String toString() {
        return text;
    }
}
