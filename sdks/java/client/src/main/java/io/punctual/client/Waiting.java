package io.punctual.client;

import java.time.Instant;

/**
 * Why a due timer has not started.
 *
 * @param reason the kind of reason
 * @param since since when
 * @param detail the reason, for people
 */
public record Waiting(Reason reason, Instant since, String detail) {
    /** Why a due timer has not started. */
    public enum Reason {
        /** The namespace is paused. */
        PAUSED("paused"),
        /** The service is paused. */
        SERVICE_PAUSED("servicePaused"),
        /** The host failed too often in a row. */
        BREAKER("breaker"),
        /** Too much is in flight. */
        CONGESTED("congested"),
        /** The service may not call this URL. */
        EGRESS_REFUSED("egressRefused"),
        /** Nobody listens to the event. */
        NO_SUBSCRIBER("noSubscriber"),
        /** The service cannot read the secrets of the namespace. */
        SEALED("sealed"),
        /** A value of a newer service. {@code json()} has its text. */
        UNKNOWN("unknown");

        private final String text;

        Reason(String text) {
            this.text = text;
        }

        /** As in the contract. */
        @Override
        public String toString() {
            return text;
        }
    }
}
