package io.punctual.client;

import java.util.Optional;
import java.util.OptionalLong;

/**
 * What a discard did. One call does a limited part.
 *
 * @param discarded how many dead letters it removed
 * @param more whether there is more to do: repeat the call with {@code nextCursor} as {@code cursor}
 * @param nextCursor where to go on
 * @param examined how many timers the call looked at
 * @param json the whole answer, also with fields of a newer service
 */
public record DiscardTimersAnswer(
        long discarded, boolean more, Optional<String> nextCursor, OptionalLong examined, Json json) {}
