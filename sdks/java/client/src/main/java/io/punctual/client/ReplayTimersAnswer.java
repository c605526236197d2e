package io.punctual.client;

import java.util.Optional;
import java.util.OptionalLong;

/**
 * What a replay did. One call does a limited part.
 *
 * @param replayed how many dead letters it armed again
 * @param skipped how many it left, because a timer with the same id is pending
 * @param more whether there is more to do: repeat the call with {@code nextCursor} as {@code cursor}
 * @param nextCursor where to go on
 * @param examined how many timers the call looked at
 * @param json the whole answer, also with fields of a newer service
 */
public record ReplayTimersAnswer(
        long replayed, long skipped, boolean more, Optional<String> nextCursor, OptionalLong examined, Json json) {}
