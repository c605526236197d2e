package io.punctual.client;

/** The body of a webhook. */
public enum WebhookBody {
    /** The payload and what the timer is. */
    ENVELOPE("envelope"),
    /** The payload alone. The headers say what the timer is. */
    PAYLOAD("payload"),
    /** A value of a newer service. {@code json()} has its text. */
    UNKNOWN("unknown");

    private final String text;

    WebhookBody(String text) {
        this.text = text;
    }

    /** As in the contract. */
    @Override
    public String toString() {
        return text;
    }
}
