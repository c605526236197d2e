package io.punctual.client.admin;

import io.punctual.client.Json;
import java.util.List;

/**
 * The open breakers of the node that answers.
 *
 * @param node the node
 * @param breakers the breakers
 * @param more whether there are more
 * @param json the whole answer, also with fields of a newer service
 */
public record ListBreakersAnswer(String node, List<Breaker> breakers, boolean more, Json json) {
    /**
     * A host that failed too often in a row.
     *
     * @param host the host
     * @param namespace the namespace
     * @param failures how often it failed in a row
     * @param waiting how many timers wait
     * @param probeInMs when the service tries it again
     */
    public record Breaker(String host, String namespace, int failures, long waiting, long probeInMs) {}
}
