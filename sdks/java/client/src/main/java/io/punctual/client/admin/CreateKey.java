package io.punctual.client.admin;

import io.punctual.client.Request;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;

/** A key to make. Give {@code role} or {@code actions}. */
public final class CreateKey extends Request<CreateKey> {
    /**
     * A key for somebody.
     *
     * @param label who uses it, for people
     */
    public CreateKey(String label) {
        super(CreateKey.class);
        set("label", label);
    }

    /**
     * What a key of this role may do.
     *
     * @param role the value
     * @return this request
     */
    public CreateKey role(Key.Role role) {
        return put("role", role);
    }

    /**
     * What the key may do.
     *
     * @param actions the values
     * @return this request
     */
    public CreateKey actions(KeyAction... actions) {
        return put("actions", List.of(actions));
    }

    /**
     * What the key may do.
     *
     * @param actions the values
     * @return this request
     */
    public CreateKey actions(Collection<KeyAction> actions) {
        return put("actions", actions == null ? null : List.copyOf(actions));
    }

    /**
     * Names, prefixes such as {@code team-*}, or {@code *}.
     *
     * @param namespaces the values
     * @return this request
     */
    public CreateKey namespaces(String... namespaces) {
        return put("namespaces", List.of(namespaces));
    }

    /**
     * Names, prefixes such as {@code team-*}, or {@code *}.
     *
     * @param namespaces the values
     * @return this request
     */
    public CreateKey namespaces(Collection<String> namespaces) {
        return put("namespaces", namespaces == null ? null : List.copyOf(namespaces));
    }

    /**
     * When the key ends.
     *
     * @param expiresAt an instant
     * @return this request
     */
    public CreateKey expiresAt(Instant expiresAt) {
        return put("expiresAt", expiresAt);
    }

    /**
     * When the key ends.
     *
     * @param expiresAt ISO 8601 with an offset, such as {@code 2030-01-15T09:00:00+01:00}
     * @return this request
     */
    public CreateKey expiresAt(String expiresAt) {
        return put("expiresAt", expiresAt);
    }

    /**
     * How long the key lives.
     *
     * @param expiresIn such as {@code 90s}, {@code 1h30m} or {@code 7d}
     * @return this request
     */
    public CreateKey expiresIn(String expiresIn) {
        return put("expiresIn", expiresIn);
    }

    /**
     * How long the key lives.
     *
     * @param expiresIn in whole milliseconds
     * @return this request
     */
    public CreateKey expiresIn(Duration expiresIn) {
        return putDuration("expiresIn", expiresIn);
    }
}
