package io.punctual.client;

import java.util.OptionalLong;

/**
 * How many timers match.
 *
 * @param count how many
 * @param capped whether there may be more
 * @param examined how many timers the call looked at
 * @param json the whole answer, also with fields of a newer service
 */
public record CountTimersAnswer(long count, boolean capped, OptionalLong examined, Json json) {}
