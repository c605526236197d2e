package io.punctual.client.admin;

import io.punctual.client.Json;
import java.time.Instant;

/**
 * The new time of a manual clock, and how many timers fired on the way.
 *
 * @param now the new time
 * @param fired how many timers fired
 * @param more whether more timers are due
 * @param json the whole answer, also with fields of a newer service
 */
public record AdvanceClockAnswer(Instant now, long fired, boolean more, Json json) {}
