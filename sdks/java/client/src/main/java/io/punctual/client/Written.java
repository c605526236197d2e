package io.punctual.client;

/** Whether a failed call may have changed anything. */
public enum Written {
    /** The call changed nothing, and will not. */
    NO("no"),
    /** The call may have done all of its work, or a part of it. */
    UNKNOWN("unknown");

    private final String text;

    Written(String text) {
        this.text = text;
    }

    /** As in the contract. */
    @Override
    public String toString() {
        return text;
    }
}
