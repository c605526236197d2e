package io.punctual.client;

import java.time.Instant;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Completes requests before they are sent: the namespace of the client, delays as instants. It refuses requests that
 * select nothing or everything by mistake, such as an empty id from an unset variable.
 */
final class CompleteRequest {
    private final CallSettings settings;
    private final Connection connection;

    CompleteRequest(CallSettings settings, Connection connection) {
        this.settings = settings;
        this.connection = connection;
    }

    /** The request with the namespace of the client, unless it names one. */
    Map<String, Object> inNamespace(Map<String, ?> request) {
        Object namespace = request.get("namespace") == null ? settings.namespace() : request.get("namespace");
        if (namespace == null) {
            throw Failures.refusedHere("namespace", "is missing: give it in the request, or once for the client");
        }
        if (namespace.equals("")) throw Failures.refusedHere("namespace", "must not be empty");
        Map<String, Object> fields = new LinkedHashMap<>(request);
        fields.put("namespace", namespace);
        return fields;
    }

    /** The request with the namespace of the client, unless it names one or several. */
    Map<String, Object> inScope(Map<String, ?> request) {
        Object namespaces = request.get("namespaces");
        if (namespaces == null) return inNamespace(request);
        if (namespaces instanceof Collection<?> names && names.isEmpty()) {
            throw Failures.refusedHere("namespaces", "must not be empty");
        }
        return new LinkedHashMap<>(request);
    }

    /** The request about one timer. */
    Map<String, Object> ofTimer(Map<String, ?> request) {
        Object timerId = request.get("timerId");
        if (timerId == null || timerId.equals("")) throw Failures.refusedHere("timerId", "must not be empty");
        return inNamespace(request);
    }

    /** The request about many timers. It must say which ones. */
    Map<String, Object> ofSelection(Map<String, ?> request, String... choices) {
        long given = List.of(choices).stream()
                .filter(name -> request.get(name) != null)
                .count();
        if (given != 1) throw Failures.refusedHere("request", "must have exactly one of " + String.join(", ", choices));
        if ("".equals(request.get("timerId"))) throw Failures.refusedHere("timerId", "must not be empty");
        Map<String, Object> filter = fieldsOf(request.get("filter"));
        boolean isEmpty = filter.values().stream().allMatch(value -> value == null || value.equals(""));
        if (request.get("filter") != null && isEmpty) {
            throw Failures.refusedHere("filter", "must have at least one field: for all timers give all instead");
        }
        return inNamespace(request);
    }

    /** A create with an id, so that it can be repeated. */
    Map<String, Object> create(Map<String, ?> request) {
        if ("".equals(request.get("timerId"))) {
            throw Failures.refusedHere("timerId", "must not be empty: leave it out to get a new one");
        }
        Map<String, Object> fields = withoutDelay(inNamespace(request));
        fields.computeIfAbsent("timerId", absent -> TimerIds.newTimerId(connection.nowMs()));
        return fields;
    }

    /** A change of a timer. */
    Map<String, Object> update(Map<String, ?> request) {
        return withoutDelay(ofTimer(request));
    }

    /** A delay as an instant, so that a repeat does not move the timer. */
    private Map<String, Object> withoutDelay(Map<String, Object> fields) {
        Object delay = fields.get("delay");
        if (delay == null || settings.delayFrom() == DelayFrom.SERVER || fields.get("executeAt") != null) return fields;
        long delayMs = Durations.parse(delay.toString())
                .orElseThrow(() -> Failures.refusedHere(
                        "delay", "must be a duration such as 90s, 1h30m or 7d, of at most 3653 days"))
                .toMillis();
        fields.remove("delay");
        fields.put("executeAt", Instant.ofEpochMilli(connection.nowMs() + delayMs));
        return fields;
    }

    /** The fields of a request inside another one. */
    static Map<String, Object> fieldsOf(Object inner) {
        Map<String, Object> fields = new LinkedHashMap<>();
        if (inner instanceof Request<?> request) fields.putAll(request.fields());
        else if (inner instanceof Map<?, ?> map) map.forEach((name, value) -> fields.put(String.valueOf(name), value));
        return fields;
    }
}
