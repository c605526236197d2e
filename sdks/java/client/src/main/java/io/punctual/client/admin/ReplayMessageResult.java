package io.punctual.client.admin;

/** What a replay of a message did. */
public enum ReplayMessageResult {
    /** The message is handled again. */
    REPLAYED("replayed"),
    /** The broker has had this replay already. */
    DUPLICATE("duplicate"),
    /** A value of a newer service. {@code json()} has its text. */
    UNKNOWN("unknown");

    private final String text;

    ReplayMessageResult(String text) {
        this.text = text;
    }

    /** As in the contract. */
    @Override
    public String toString() {
        return text;
    }
}
