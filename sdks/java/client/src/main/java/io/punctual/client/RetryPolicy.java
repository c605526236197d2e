package io.punctual.client;

import java.time.Duration;
import java.util.Optional;

/**
 * Waits that grow.
 *
 * @param maxAttempts how many attempts there are at most
 * @param initialInterval the wait after the first failed attempt
 * @param backoffMultiplier how much longer each wait is than the one before
 * @param maxInterval the longest wait
 * @param jitter the part of each wait that is random, from 0 to 1
 * @param maxDuration how long after {@code executeAt} the last attempt may start
 */
public record RetryPolicy(
        int maxAttempts,
        Duration initialInterval,
        double backoffMultiplier,
        Duration maxInterval,
        double jitter,
        Optional<Duration> maxDuration)
        implements Retries {}
