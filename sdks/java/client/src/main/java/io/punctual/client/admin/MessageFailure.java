package io.punctual.client.admin;

import java.time.Instant;

/**
 * When and why a message failed.
 *
 * @param at when
 * @param error why
 */
public record MessageFailure(Instant at, String error) {}
