package io.punctual.client;

import java.time.Instant;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * One attempt to deliver a timer.
 *
 * @param at when it began
 * @param status the HTTP status, if the receiver answered
 * @param error why it failed
 * @param answer the first bytes of the receiver's answer to a failed attempt
 * @param durationMs how long it took
 */
public record Attempt(
        Instant at, OptionalInt status, Optional<String> error, Optional<String> answer, long durationMs) {}
