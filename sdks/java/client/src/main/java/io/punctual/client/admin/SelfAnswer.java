package io.punctual.client.admin;

import io.punctual.client.Json;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * Who calls, and what the caller may do.
 *
 * @param name the name of the caller
 * @param keyId the id of its key
 * @param keysRequired whether the service needs keys
 * @param actions what it may do
 * @param namespaces where
 * @param expiresAt when its key ends
 * @param json the whole answer, also with fields of a newer service
 */
public record SelfAnswer(
        String name,
        Optional<String> keyId,
        boolean keysRequired,
        List<KeyAction> actions,
        List<String> namespaces,
        Optional<Instant> expiresAt,
        Json json) {}
