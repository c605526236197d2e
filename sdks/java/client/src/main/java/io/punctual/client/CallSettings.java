package io.punctual.client;

import java.net.http.HttpRequest;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/** What holds for the calls of one view of a client. {@code namespace} and {@code deadline} may be null. */
record CallSettings(
        String namespace,
        DelayFrom delayFrom,
        Duration timeout,
        int maxRetries,
        Instant deadline,
        Map<String, String> headers) {

    private static final Duration SHORTEST_TIMEOUT = Duration.ofMillis(1);
    private static final Duration LONGEST_TIMEOUT = Duration.ofDays(1);

    CallSettings {
        Objects.requireNonNull(delayFrom, "delayFrom");
        Objects.requireNonNull(timeout, "timeout");
        if (timeout.compareTo(SHORTEST_TIMEOUT) < 0 || timeout.compareTo(LONGEST_TIMEOUT) > 0)
            throw new IllegalArgumentException("timeout must be from 1 ms to 1 day");
        if (maxRetries < 0 || maxRetries > 100) throw new IllegalArgumentException("maxRetries must be from 0 to 100");
        headers = Collections.unmodifiableMap(headers);
    }

    CallSettings withNamespace(String changed) {
        return new CallSettings(changed, delayFrom, timeout, maxRetries, deadline, headers);
    }

    CallSettings withDelayFrom(DelayFrom changed) {
        return new CallSettings(namespace, changed, timeout, maxRetries, deadline, headers);
    }

    CallSettings withTimeout(Duration changed) {
        return new CallSettings(namespace, delayFrom, changed, maxRetries, deadline, headers);
    }

    CallSettings withMaxRetries(int changed) {
        return new CallSettings(namespace, delayFrom, timeout, changed, deadline, headers);
    }

    CallSettings withDeadline(Instant changed) {
        return new CallSettings(namespace, delayFrom, timeout, maxRetries, changed, headers);
    }

    /** Names are the same in upper and lower case, so the last value counts. */
    CallSettings withHeader(String name, String value) {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(value, "value");
        try {
            HttpRequest.newBuilder().setHeader(name, value);
        } catch (IllegalArgumentException refused) {
            // Without the message of the HTTP client, which would show the value.
            throw new IllegalArgumentException("the header " + name + " has a name or a value that cannot be sent");
        }
        Map<String, String> changed = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        changed.putAll(headers);
        changed.put(name, value);
        return new CallSettings(namespace, delayFrom, timeout, maxRetries, deadline, changed);
    }
}
