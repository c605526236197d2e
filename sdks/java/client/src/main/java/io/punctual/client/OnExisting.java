package io.punctual.client;

/** What a create does if a timer with its id is pending. */
public enum OnExisting {
    /** The new timer takes its place. */
    REPLACE("replace"),
    /** The old timer stays. */
    KEEP("keep"),
    /** The create fails with {@code timerExists}. */
    FAIL("fail");

    private final String text;

    OnExisting(String text) {
        this.text = text;
    }

    /** As in the contract. */
    @Override
    public String toString() {
        return text;
    }
}
