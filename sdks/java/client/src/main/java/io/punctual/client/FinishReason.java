package io.punctual.client;

/** Why a timer is dead, or was cancelled without a call. */
public enum FinishReason {
    /** All attempts failed. */
    ATTEMPTS_EXHAUSTED("attemptsExhausted"),
    /** The time for attempts is over. */
    DURATION_EXHAUSTED("durationExhausted"),
    /** The first attempt did not start in time. */
    EXPIRED("expired"),
    /** The receiver refused it for good. */
    REFUSED("refused"),
    /** The service may not call this URL. */
    EGRESS_REFUSED("egressRefused"),
    /** The target cannot be called. */
    INVALID_TARGET("invalidTarget"),
    /** A call of {@code onDead} was for a timer that is not dead any more. */
    NOT_DEAD("notDead"),
    /** A value of a newer service. {@code json()} has its text. */
    UNKNOWN("unknown");

    private final String text;

    FinishReason(String text) {
        this.text = text;
    }

    /** As in the contract. */
    @Override
    public String toString() {
        return text;
    }
}
