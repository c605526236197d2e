package io.punctual.client;

import java.time.Instant;
import java.util.List;

/**
 * What happened in one step.
 *
 * @param at where the step begins
 * @param created created timers
 * @param delivered delivered timers
 * @param retried failed attempts with another one to come
 * @param dead timers that were given up
 * @param cancelled cancelled timers
 * @param lateness how many first attempts were this late, by the bounds in {@code latenessUpToMs}
 */
public record ActivityPoint(
        Instant at, long created, long delivered, long retried, long dead, long cancelled, List<Long> lateness) {}
