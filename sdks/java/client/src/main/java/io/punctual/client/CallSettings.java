package io.punctual.client;

import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/** What holds for the calls of one view of a client. {@code namespace} and {@code deadline} may be null. */
record CallSettings(
        String namespace,
        DelayFrom delayFrom,
        Duration timeout,
        int maxRetries,
        Instant deadline,
        Map<String, String> headers) {

    CallSettings {
        if (timeout.isNegative() || timeout.toMillis() == 0)
            throw new IllegalArgumentException("timeout must be at least 1 ms");
        if (maxRetries < 0 || maxRetries > 100) throw new IllegalArgumentException("maxRetries must be from 0 to 100");
        headers = Map.copyOf(headers);
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

    CallSettings withHeader(String name, String value) {
        Map<String, String> changed = new LinkedHashMap<>(headers);
        changed.put(name, value);
        return new CallSettings(namespace, delayFrom, timeout, maxRetries, deadline, changed);
    }
}
