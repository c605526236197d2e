package io.punctual.client.admin;

import io.punctual.client.Json;
import java.time.Instant;
import java.util.Optional;

/**
 * A message with its content.
 *
 * @param id its id
 * @param namespace the namespace
 * @param storedAt when it was set aside
 * @param reason why
 * @param group the group of consumers
 * @param deliveries how often the broker delivered it
 * @param firstFailure the first failure
 * @param lastFailure the last failure
 * @param type the type of the message
 * @param aggregateId the id of its aggregate
 * @param messageId its id on the bus
 * @param correlationId its correlation id
 * @param messageBytes how long it is
 * @param isCut whether only a part was kept
 * @param envelope its content, if that is readable
 * @param raw its content, if that is not readable
 * @param json the whole object, also with fields of a newer service
 */
public record StoredMessage(
        String id,
        String namespace,
        Instant storedAt,
        MessageReason reason,
        Optional<String> group,
        int deliveries,
        MessageFailure firstFailure,
        MessageFailure lastFailure,
        Optional<String> type,
        Optional<String> aggregateId,
        Optional<String> messageId,
        Optional<String> correlationId,
        long messageBytes,
        boolean isCut,
        Optional<Json> envelope,
        Optional<String> raw,
        Json json) {
    /** Without the content, which must not get into logs. */
    @Override
    public String toString() {
        return "StoredMessage[" + namespace + "/" + id + " " + reason + "]";
    }
}
