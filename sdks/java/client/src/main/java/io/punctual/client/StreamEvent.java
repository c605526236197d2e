package io.punctual.client;

import java.util.Optional;

/**
 * One event of the service.
 *
 * @param type {@code created}, {@code changed}, {@code cancelled}, {@code replayed}, {@code started}, {@code
 *     delivered}, {@code retried}, {@code dead}, {@code skipped}, {@code gap} or {@code nodes}
 * @param id send it as {@code lastEventId} to continue here
 * @param data {@code namespace}, {@code timerId}, {@code fireId}, {@code at} and {@code state} for events of timers
 */
public record StreamEvent(String type, Optional<String> id, Optional<Json> data) {}
