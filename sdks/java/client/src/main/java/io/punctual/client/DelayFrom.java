package io.punctual.client;

/** Where delays begin. */
public enum DelayFrom {
    /** When the client sends the call. The client sends the delay as an instant. */
    CLIENT("client"),
    /** When the service receives the call. Then a create is not repeated after a time-out. */
    SERVER("server");

    private final String text;

    DelayFrom(String text) {
        this.text = text;
    }

    /** As in the contract. */
    @Override
    public String toString() {
        return text;
    }
}
