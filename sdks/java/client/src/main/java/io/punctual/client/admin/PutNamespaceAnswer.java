package io.punctual.client.admin;

import io.punctual.client.Json;
import java.util.Optional;

/**
 * The settings after a change.
 *
 * @param settings the settings
 * @param madeSealingKey the service made a key to seal secrets with. Back up its file
 * @param json the whole answer, also with fields of a newer service
 */
public record PutNamespaceAnswer(NamespaceSettings settings, Optional<MadeSealingKey> madeSealingKey, Json json) {
    /**
     * The service made a key to seal secrets with.
     *
     * @param file where it is
     */
    public record MadeSealingKey(String file) {}
}
