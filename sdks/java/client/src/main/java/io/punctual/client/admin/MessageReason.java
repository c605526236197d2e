package io.punctual.client.admin;

/** Why a message was set aside. */
public enum MessageReason {
    /** It is not readable. */
    MALFORMED("malformed"),
    /** It asks for something that cannot be done. */
    REFUSED("refused"),
    /** It failed too often. */
    DELIVERIES_EXHAUSTED("deliveriesExhausted"),
    /** A value of a newer service. {@code json()} has its text. */
    UNKNOWN("unknown");

    private final String text;

    MessageReason(String text) {
        this.text = text;
    }

    /** As in the contract. */
    @Override
    public String toString() {
        return text;
    }
}
