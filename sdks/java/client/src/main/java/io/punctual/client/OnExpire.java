package io.punctual.client;

/** What happens to a timer that has expired. */
public enum OnExpire {
    /** It becomes a dead letter. */
    DEAD("dead"),
    /** It is cancelled without a call. */
    DROP("drop"),
    /** A value of a newer service. {@code json()} has its text. */
    UNKNOWN("unknown");

    private final String text;

    OnExpire(String text) {
        this.text = text;
    }

    /** As in the contract. */
    @Override
    public String toString() {
        return text;
    }
}
