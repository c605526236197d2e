package io.punctual.client.admin;

import io.punctual.client.Json;
import java.time.Instant;

/**
 * The session that began.
 *
 * @param name whose it is
 * @param endsAt when it ends
 * @param json the whole answer, also with fields of a newer service
 */
public record SessionAnswer(String name, Instant endsAt, Json json) {}
