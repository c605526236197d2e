package io.punctual.client;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Waits that are listed.
 *
 * @param waits the wait after each failed attempt
 * @param maxDuration how long after {@code executeAt} the last attempt may start
 */
public record RetryWaits(List<Duration> waits, Optional<Duration> maxDuration) implements Retries {}
