package io.punctual.client;

/** What lateness is shown apart for. */
public enum ActivityBy {
    /** Each namespace. */
    NAMESPACE("namespace"),
    /** Each host. */
    HOST("host");

    private final String text;

    ActivityBy(String text) {
        this.text = text;
    }

    /** As in the contract. */
    @Override
    public String toString() {
        return text;
    }
}
