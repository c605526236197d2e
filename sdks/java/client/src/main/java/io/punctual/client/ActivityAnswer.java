package io.punctual.client;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * How much happened in each step.
 *
 * @param from where the span begins
 * @param until where the span ends
 * @param step the length of each step
 * @param latenessUpToMs the upper bounds of the classes of lateness
 * @param points the steps
 * @param series lateness apart for each namespace or host, if asked for
 * @param partial whether a part is missing
 * @param missing the nodes that did not answer
 * @param json the whole answer, also with fields of a newer service
 */
public record ActivityAnswer(
        Instant from,
        Instant until,
        Duration step,
        List<Long> latenessUpToMs,
        List<ActivityPoint> points,
        List<Series> series,
        boolean partial,
        List<String> missing,
        Json json) {
    /**
     * The lateness of one namespace or host.
     *
     * @param name its name
     * @param points the steps
     */
    public record Series(String name, List<Point> points) {}

    /**
     * The lateness in one step.
     *
     * @param at where the step begins
     * @param lateness how many first attempts were this late
     */
    public record Point(Instant at, List<Long> lateness) {}
}
