package io.punctual.client;

import java.util.Map;

/** One call, ready to send: the id of its operation, its path below /api/v1, its body, and what a repeat would do. */
record Outgoing(String operation, String path, String body, Repeats.Kind repeats) {
    static Outgoing of(String operation, Map<String, ?> fields) {
        return new Outgoing(operation, pathOf(operation), Json.of(fields).text(), Repeats.kindOf(operation, fields));
    }

    /** {@code timers.create} is at timers/create, and {@code cluster.cluster} at cluster. */
    static String pathOf(String operation) {
        String[] parts = operation.split("\\.", 2);
        return parts.length == 1 || parts[0].equals(parts[1]) ? parts[0] : parts[0] + "/" + parts[1];
    }
}
