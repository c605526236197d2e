package io.punctual.client;

/** The order of a list. */
public enum SortOrder {
    /** Earliest first. */
    ASC("asc"),
    /** Latest first. */
    DESC("desc");

    private final String text;

    SortOrder(String text) {
        this.text = text;
    }

    /** As in the contract. */
    @Override
    public String toString() {
        return text;
    }
}
