package io.punctual.client.webhooks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.punctual.client.Cases;
import io.punctual.client.Json;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Runs cases about receiving webhooks. */
public final class ReceiveCases {
    static final String SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
    static final Instant NOW = Instant.parse("2030-01-01T00:00:00Z");
    private static final String FIRE_ID = "01b8d832-8600-7000-8000-03fe5c9c45b0";

    private final Json given;
    private final List<TimerEvent> events = new ArrayList<>();
    private final List<String> calledBy = new ArrayList<>();
    private final List<String> marked = new ArrayList<>();

    private ReceiveCases(Json given) {
        this.given = given;
    }

    public static void run(Json given) {
        new ReceiveCases(given).check();
    }

    private void check() {
        WebhookResponse answer = handler().handle(requestOf(given, Cases.text(given, "body")));
        assertEquals(given.get("status").orElseThrow().as(int.class), answer.status(), answer.body());
        given.get("answer")
                .ifPresent(expected ->
                        assertEquals(expected.value(), Json.parse(answer.body()).value()));
        given.get("answerLacks").ifPresent(lacks -> assertFalse(answer.body().contains(lacks.as(String.class))));
        Cases.members(given, "answerHeaders")
                .forEach((name, value) ->
                        assertEquals(value.as(String.class), answer.headers().get(name)));
        Optional<Json> handled = given.get("handled");
        if (handled.isPresent() && !handled.get().isObject()) assertEquals(List.of(), events);
        else {
            assertEquals(1, events.size());
            handled.ifPresent(expected -> assertEvent(expected, events.get(0)));
        }
        given.get("handledBy").ifPresent(name -> assertEquals(List.of(name.as(String.class)), calledBy));
        given.get("marked").ifPresent(isMarked -> assertEquals(isMarked.as(boolean.class) ? 1 : 0, marked.size()));
    }

    private static void assertEvent(Json expected, TimerEvent event) {
        Map<String, Object> words = new HashMap<>(Map.of(
                "type", event.type(),
                "namespace", event.namespace(),
                "timerId", event.timerId(),
                "fireId", event.fireId(),
                "attempt", (long) event.attempt(),
                "executeAt", Json.of(event.executeAt()).value(),
                "tags", event.tags()));
        event.payload().ifPresent(payload -> words.put("payload", payload.value()));
        event.reason().ifPresent(reason -> words.put("reason", reason));
        event.attempts().ifPresent(attempts -> words.put("attempts", (long) attempts));
        expected.members().forEach((name, value) -> assertEquals(value.value(), words.get(name), name));
    }

    private WebhookHandler handler() {
        WebhookHandler.Builder builder =
                WebhookHandler.builder().clock(Clock.fixed(NOW, ZoneOffset.UTC)).logger(new QuietLogger());
        if (given.get("secrets").isPresent()) builder.withoutSecrets();
        else builder.secrets(SECRET);
        List<Json> tags = given.get("on").map(Json::items).orElse(List.of());
        if (tags.isEmpty()) builder.handle(functionNamed("handle"));
        tags.forEach(tag -> builder.on(tag.as(String.class), functionNamed(tag.as(String.class))));
        if (given.get("fallback").isPresent()) builder.fallback(functionNamed("fallback"));
        given.get("memory").ifPresent(memory -> builder.memory(memoryOf(memory)));
        given.get("maxBodyBytes").ifPresent(most -> builder.maxBodyBytes(most.as(int.class)));
        return builder.build();
    }

    private TimerFunction functionNamed(String name) {
        return event -> {
            events.add(event);
            calledBy.add(name);
            return act(given.get("does").orElseThrow());
        };
    }

    private static Outcome act(Json does) throws Exception {
        Optional<Json> retry = does.get("retry");
        if (retry.isPresent())
            return retry.get().isNull()
                    ? Outcome.retry()
                    : Outcome.retry(retry.get().as(String.class));
        if (does.get("dead").isPresent()) return Outcome.dead(Cases.text(does, "dead"));
        if (does.get("throw").isPresent()) throw new Exception(Cases.text(does, "throw"));
        Json returned = does.get("return").orElseThrow();
        if (returned.isNull()) return Outcome.delivered();
        Map<?, ?> again = (Map<?, ?>) Cases.nativeOf(returned);
        Outcome.Again outcome = again.get("nextDelay") == null
                ? Outcome.againAt((Instant) again.get("nextExecuteAt"))
                : Outcome.again((String) again.get("nextDelay"));
        return again.get("payload") == null ? outcome : outcome.withPayload(again.get("payload"));
    }

    private Memory memoryOf(Json memory) {
        Optional<String> done =
                memory.get("done").map(found -> found.text().equals("true") ? "" : found.as(String.class));
        return new Memory() {
            @Override
            public Optional<String> done(String fireId) {
                return done;
            }

            @Override
            public void markDone(String fireId, String answer) {
                marked.add(fireId);
            }
        };
    }

    static WebhookRequest requestOf(Json given, String body) {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        long timestampSeconds = NOW.getEpochSecond();
        boolean isWrong = given.get("signature").isPresent();
        Map<String, List<String>> headers = SignatureCases.headersOf(given);
        headers.put("webhook-id", List.of(FIRE_ID));
        headers.put("webhook-timestamp", List.of(Long.toString(timestampSeconds)));
        headers.put(
                "webhook-signature",
                List.of(isWrong ? "v1,d3Jvbmc=" : Signatures.sign(FIRE_ID, timestampSeconds, bytes, SECRET)));
        return new WebhookRequest(headers, bytes);
    }
}
