package io.punctual.client;

import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * How many timers there are in each part of a span.
 *
 * @param from where the span begins
 * @param until where the span ends
 * @param counts how many timers there are in each part
 * @param total how many timers there are
 * @param estimated whether the counts are estimates
 * @param asOf when the service counted
 * @param capped whether the service stopped counting
 * @param countedUntil until when it counted, if it stopped
 * @param examined how many timers the call looked at
 * @param missing the nodes that did not answer
 * @param json the whole answer, also with fields of a newer service
 */
public record TimerHistogramAnswer(
        Instant from,
        Instant until,
        List<Long> counts,
        long total,
        boolean estimated,
        Instant asOf,
        boolean capped,
        Optional<Instant> countedUntil,
        OptionalLong examined,
        List<String> missing,
        Json json) {}
