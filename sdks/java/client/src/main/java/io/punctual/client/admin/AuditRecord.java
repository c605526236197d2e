package io.punctual.client.admin;

import io.punctual.client.Json;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What an operator did.
 *
 * @param id the id of the record
 * @param at when
 * @param action such as {@code keys.create}
 * @param outcome whether it was done
 * @param caller who did it
 * @param keyId with which key
 * @param address from where
 * @param requestId the id of the request
 * @param about what it was about
 * @param before the state before
 * @param after the state after
 * @param count how many things changed
 * @param json the whole object, also with fields of a newer service
 */
public record AuditRecord(
        String id,
        Instant at,
        String action,
        Outcome outcome,
        String caller,
        Optional<String> keyId,
        Optional<String> address,
        Optional<String> requestId,
        Map<String, Json> about,
        Map<String, Json> before,
        Map<String, Json> after,
        OptionalLong count,
        Json json) {
    /** Whether an action was done. */
    public enum Outcome {
        /** It was done. */
        DONE("done"),
        /** The service does not know. */
        UNKNOWN("unknown");

        private final String text;

        Outcome(String text) {
            this.text = text;
        }

        /** As in the contract. */
        @Override
        public String toString() {
            return text;
        }
    }
}
