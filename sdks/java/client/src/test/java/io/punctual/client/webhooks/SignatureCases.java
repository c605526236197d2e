package io.punctual.client.webhooks;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.punctual.client.Cases;
import io.punctual.client.Json;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Runs cases about signatures. */
public final class SignatureCases {
    private SignatureCases() {}

    public static void run(Json given) {
        byte[] body = Base64.getDecoder().decode(Cases.text(given, "bodyBase64"));
        List<String> secrets = given.get("secrets").orElseThrow().items().stream()
                .map(secret -> secret.as(String.class))
                .toList();
        Duration tolerance = given.get("toleranceMs")
                .map(found -> Duration.ofMillis(found.as(long.class)))
                .orElse(Signatures.USUAL_TOLERANCE);
        Instant now = Instant.ofEpochMilli(given.get("nowMs").orElseThrow().as(long.class));
        WebhookRequest request = new WebhookRequest(headersOf(given), body);
        assertEquals(
                Cases.text(given, "finding"),
                Signatures.verify(request, body, secrets, tolerance, now).toString());
    }

    static Map<String, List<String>> headersOf(Json given) {
        Map<String, List<String>> headers = new LinkedHashMap<>();
        Cases.members(given, "headers").forEach((name, value) -> headers.put(name, List.of(value.as(String.class))));
        return headers;
    }
}
