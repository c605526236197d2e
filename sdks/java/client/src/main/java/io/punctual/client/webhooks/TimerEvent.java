package io.punctual.client.webhooks;

import io.punctual.client.Attempt;
import io.punctual.client.Json;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * A timer that fires, or that has died: from the envelope in the body or, for targets with {@code body: payload}, from
 * the headers.
 *
 * @param type {@code timer.fired}, or {@code timer.dead} for a call of {@code onDead}
 * @param namespace the namespace
 * @param timerId your id of the timer
 * @param fireId the same on every attempt
 * @param attempt the first attempt is 1
 * @param maxAttempts how many attempts there are; only in an envelope
 * @param epoch grows when another node takes over the timer
 * @param revision the revision of the timer; only in an envelope
 * @param executeAt when the timer was due
 * @param firedAt when this attempt began; only in an envelope
 * @param correlationId your id that joins what belongs together; only in an envelope
 * @param tags the tags of the timer
 * @param payload the payload with its exact text; empty if there is none
 * @param reason why the timer died
 * @param attempts how many attempts there were before it died
 * @param lastAttempt the last attempt before it died
 * @param deadline when Punctual gives up this attempt
 * @param headers the headers of the request
 */
public record TimerEvent(
        String type,
        String namespace,
        String timerId,
        String fireId,
        int attempt,
        OptionalInt maxAttempts,
        long epoch,
        OptionalLong revision,
        Instant executeAt,
        Optional<Instant> firedAt,
        Optional<String> correlationId,
        List<String> tags,
        Optional<Json> payload,
        Optional<String> reason,
        OptionalInt attempts,
        Optional<Attempt> lastAttempt,
        Instant deadline,
        Map<String, List<String>> headers) {

    /**
     * Reads the timer of a request. {@link WebhookHandler} does this by itself, after it has checked the signature.
     *
     * @param request the headers
     * @param body the body
     * @param deadline when Punctual gives up this attempt
     * @return the timer
     * @throws IllegalArgumentException if the body is not JSON, or if a header is missing
     */
    public static TimerEvent of(WebhookRequest request, byte[] body, Instant deadline) {
        Map<String, Object> fields = fieldsOfHeaders(request);
        String text = textOf(body);
        if (!text.isEmpty()) {
            Json json = Json.parse(text);
            if (isEnvelope(json, request)) fields.putAll(json.members());
            else fields.put("payload", json);
        }
        fields.put("deadline", deadline);
        fields.put("headers", request.headers());
        return Json.of(fields).as(TimerEvent.class);
    }

    /**
     * The payload as a type of your own. See {@link Json#as}.
     *
     * @param <T> the type
     * @param payloadType the class of the type
     * @return empty if there is no payload
     */
    public <T> Optional<T> payload(Class<T> payloadType) {
        return payload.map(json -> json.as(payloadType));
    }

    /**
     * How long your function may still take. Use it as the time-out of what the function calls.
     *
     * @return the rest of the time; zero if it is over
     */
    public Duration remaining() {
        Duration left = Duration.between(Instant.now(), deadline);
        return left.isNegative() ? Duration.ZERO : left;
    }

    /** Without the payload, which must not get into logs. */
    @Override
    public String toString() {
        return "TimerEvent[" + namespace + "/" + timerId + " " + type + " " + fireId + " attempt " + attempt + "]";
    }

    /** The envelope names the same fireId as the headers. Anything else is a payload that only looks like one. */
    private static boolean isEnvelope(Json json, WebhookRequest request) {
        Optional<Object> fireId = json.get("fireId").map(Json::value);
        Optional<Object> type = json.get("type").map(Json::value);
        if (fireId.isEmpty() || type.isEmpty()) return false;
        boolean isDead = type.get().equals("timer.dead");
        String header = isDead ? "punctual-timer-id" : "webhook-id";
        String wanted = isDead ? "_dead." + fireId.get() : fireId.get().toString();
        return request.header(header).equals(Optional.of(wanted));
    }

    private static Map<String, Object> fieldsOfHeaders(WebhookRequest request) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("type", "timer.fired");
        fields.put("namespace", request.header("punctual-namespace").orElse(""));
        fields.put("timerId", decoded(request.header("punctual-timer-id").orElse("")));
        fields.put("fireId", request.header("webhook-id").orElse(""));
        fields.put(
                "attempt", Integer.parseInt(request.header("punctual-attempt").orElse("1")));
        fields.put("epoch", Long.parseLong(request.header("punctual-epoch").orElse("0")));
        request.header("punctual-execute-at").ifPresent(at -> fields.put("executeAt", at));
        String tags = request.header("punctual-tags").orElse("");
        fields.put(
                "tags",
                Arrays.stream(tags.split(","))
                        .map(String::strip)
                        .filter(tag -> !tag.isEmpty())
                        .map(TimerEvent::decoded)
                        .toList());
        return fields;
    }

    /** Percent-encoding without the plus sign of forms. */
    private static String decoded(String text) {
        return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    private static String textOf(byte[] body) {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(body))
                    .toString();
        } catch (CharacterCodingException noText) {
            throw new IllegalArgumentException("the body is not UTF-8", noText);
        }
    }
}
