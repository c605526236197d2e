package io.punctual.client.admin;

import io.punctual.client.Json;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * A key without its secret.
 *
 * @param id its public id
 * @param label who uses it
 * @param state whether it is valid
 * @param actions what it may do
 * @param namespaces where
 * @param createdAt when it was made
 * @param madeBy who made it
 * @param expiresAt when it ends
 * @param revokedAt when it was revoked
 * @param lastUsedAt when it was used last
 * @param oldSecretUntil until when its old secret is valid
 * @param json the whole object, also with fields of a newer service
 */
public record Key(
        String id,
        String label,
        State state,
        List<KeyAction> actions,
        List<String> namespaces,
        Optional<Instant> createdAt,
        Optional<String> madeBy,
        Optional<Instant> expiresAt,
        Optional<Instant> revokedAt,
        Optional<Instant> lastUsedAt,
        Optional<Instant> oldSecretUntil,
        Json json) {
    /** Whether a key is valid. */
    public enum State {
        /** It is valid. */
        ACTIVE("active"),
        /** Its time is over. */
        EXPIRED("expired"),
        /** Somebody revoked it. */
        REVOKED("revoked"),
        /** The store was restored, and nobody has confirmed the key. */
        UNCONFIRMED("unconfirmed"),
        /** The service cannot read its record. */
        UNREADABLE("unreadable"),
        /** A value of a newer service. {@code json()} has its text. */
        UNKNOWN("unknown");

        private final String text;

        State(String text) {
            this.text = text;
        }

        /** As in the contract. */
        @Override
        public String toString() {
            return text;
        }
    }

    /** What a key of a role may do. */
    public enum Role {
        /** Work with timers. */
        APP("app"),
        /** Look. */
        VIEWER("viewer"),
        /** Run the service. */
        OPERATOR("operator"),
        /** Everything. */
        ADMIN("admin");

        private final String text;

        Role(String text) {
            this.text = text;
        }

        /** As in the contract. */
        @Override
        public String toString() {
            return text;
        }
    }
}
