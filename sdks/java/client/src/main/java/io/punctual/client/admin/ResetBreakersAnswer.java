package io.punctual.client.admin;

import io.punctual.client.Json;

/**
 * How many breakers were closed.
 *
 * @param node the node that answers
 * @param reset how many
 * @param json the whole answer, also with fields of a newer service
 */
public record ResetBreakersAnswer(String node, int reset, Json json) {}
