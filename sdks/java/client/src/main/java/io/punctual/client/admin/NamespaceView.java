package io.punctual.client.admin;

import io.punctual.client.Json;
import io.punctual.client.Retries;
import io.punctual.client.Target;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * The settings of a namespace, and how many timers it has.
 *
 * @param namespace its name
 * @param webhookSecrets the secrets that sign webhooks
 * @param retryPolicy when to try again after a failed attempt
 * @param onDead who is called when a timer is dead
 * @param maxInFlight how many timers are delivered at the same time
 * @param maxPending how many timers may be pending
 * @param createsPerSecond how many timers may be created in a second
 * @param paused whether firing stops
 * @param pausedSince since when
 * @param pauseReason why
 * @param updatedAt when the settings changed last
 * @param pending its pending timers
 * @param dead its dead letters
 * @param json the whole object, also with fields of a newer service
 */
public record NamespaceView(
        String namespace,
        List<SecretFingerprint> webhookSecrets,
        Optional<Retries> retryPolicy,
        Optional<Target> onDead,
        OptionalInt maxInFlight,
        OptionalLong maxPending,
        OptionalInt createsPerSecond,
        boolean paused,
        Optional<Instant> pausedSince,
        Optional<String> pauseReason,
        Optional<Instant> updatedAt,
        CappedCount pending,
        CappedCount dead,
        Json json) {
    /**
     * A count with a limit.
     *
     * @param count how many
     * @param capped whether there may be more
     */
    public record CappedCount(long count, boolean capped) {}
}
