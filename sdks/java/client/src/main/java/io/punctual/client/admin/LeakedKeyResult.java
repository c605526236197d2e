package io.punctual.client.admin;

/** What became of a leaked key. */
public enum LeakedKeyResult {
    /** It has ended now. */
    REVOKED("revoked"),
    /** It had ended before. */
    ALREADY_REVOKED("alreadyRevoked"),
    /** A value of a newer service. {@code json()} has its text. */
    UNKNOWN("unknown");

    private final String text;

    LeakedKeyResult(String text) {
        this.text = text;
    }

    /** As in the contract. */
    @Override
    public String toString() {
        return text;
    }
}
