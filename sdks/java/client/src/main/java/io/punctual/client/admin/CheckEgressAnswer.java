package io.punctual.client.admin;

import io.punctual.client.Json;
import java.util.List;
import java.util.Optional;

/**
 * Whether the service may call a URL, and why.
 *
 * @param allowed whether it may
 * @param verdict the same, or that it is not known
 * @param entry the entry of the rules that decided
 * @param reason why, for people
 * @param addresses each address of the host
 * @param json the whole answer, also with fields of a newer service
 */
public record CheckEgressAnswer(
        boolean allowed,
        Verdict verdict,
        Optional<String> entry,
        String reason,
        List<JudgedAddress> addresses,
        Json json) {
    /** Whether a URL may be called. */
    public enum Verdict {
        /** It may. */
        ALLOWED("allowed"),
        /** It may not. */
        REFUSED("refused"),
        /** The service does not know the addresses of the host. */
        UNKNOWN("unknown");

        private final String text;

        Verdict(String text) {
            this.text = text;
        }

        /** As in the contract. */
        @Override
        public String toString() {
            return text;
        }
    }

    /**
     * Whether the service may call one address.
     *
     * @param address the address
     * @param allowed whether it may
     * @param entry the entry of the rules that decided
     */
    public record JudgedAddress(String address, boolean allowed, Optional<String> entry) {}
}
