package io.punctual.client.webhooks;

/** What a check of a signature found. */
public enum Finding {
    /** One of the secrets signed this body, not long ago. */
    OK("ok"),
    /** None of the secrets signed this body. */
    WRONG("wrong"),
    /** A header of the signature is missing. */
    MISSING("missing"),
    /** The signature is right, but too old. */
    TOO_OLD("tooOld"),
    /** The signature is right, but from the future. */
    TOO_NEW("tooNew");

    private final String text;

    Finding(String text) {
        this.text = text;
    }

    /** As in the contract. */
    @Override
    public String toString() {
        return text;
    }
}
