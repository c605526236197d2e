package io.punctual.client;

import java.util.Optional;
import java.util.OptionalLong;

/**
 * What a cancel of many timers did. One call does a limited part.
 *
 * @param cancelled how many timers it cancelled
 * @param inFlight how many timers were in flight
 * @param more whether there is more to do: repeat the call with {@code nextCursor} as {@code cursor}
 * @param nextCursor where to go on
 * @param examined how many timers the call looked at
 * @param json the whole answer, also with fields of a newer service
 */
public record CancelManyTimersAnswer(
        long cancelled, long inFlight, boolean more, Optional<String> nextCursor, OptionalLong examined, Json json) {}
