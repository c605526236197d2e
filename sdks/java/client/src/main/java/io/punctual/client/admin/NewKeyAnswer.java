package io.punctual.client.admin;

import io.punctual.client.Json;

/**
 * A new key, or a key with a new secret.
 *
 * @param key the key
 * @param apiKey its secret, which the service shows only once
 * @param json the whole answer, also with fields of a newer service
 */
public record NewKeyAnswer(Key key, String apiKey, Json json) {
    /** Without the secret, which must not get into logs. */
    @Override
    public String toString() {
        return "NewKeyAnswer[key=" + key.id() + "]";
    }
}
