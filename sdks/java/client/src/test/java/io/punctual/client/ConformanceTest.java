package io.punctual.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.punctual.client.webhooks.ReceiveCases;
import io.punctual.client.webhooks.SignatureCases;
import java.net.http.HttpHeaders;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The cases that every library of Punctual passes: sdks/conformance/README.md. A file without a runner fails. */
class ConformanceTest {
    private interface Runner {
        void run(Json given) throws Exception;
    }

    private static final Map<String, Runner> RUNNERS = Map.of(
            "requests", ConformanceTest::request,
            "answers", ConformanceTest::answer,
            "problems", ConformanceTest::problem,
            "repeats", ConformanceTest::repeats,
            "paging", ConformanceTest::paging,
            "signatures", SignatureCases::run,
            "receive", ReceiveCases::run,
            "durations", ConformanceTest::duration);

    @TestFactory
    Stream<DynamicTest> cases() {
        return Cases.names().stream().flatMap(file -> Cases.of(file).stream().map(given -> {
            String name = Optional.ofNullable(Cases.text(given, "name")).orElseGet(given::text);
            return DynamicTest.dynamicTest(file + ": " + name, () -> {
                Runner runner = RUNNERS.get(file);
                if (runner == null) fail("there is no runner for " + file);
                runner.run(given);
            });
        }));
    }

    private static void request(Json given) {
        List<ScriptedHttp.Try> tries = new ArrayList<>();
        String date = Cases.text(given, "dateOfAnEarlierAnswer");
        if (date != null) tries.add(new ScriptedHttp.Try(null, 200, Map.of("date", date), "{}"));
        tries.add(ScriptedHttp.Try.answer("{}"));
        ScriptedClient scripted = new ScriptedClient(tries, options -> clientOf(given, options.namespace(null)));
        if (date != null) scripted.punctual.exchange("service.get", Map.of(), Json.class);
        PunctualException failure = failureOf(scripted, given);
        Json sends = given.get("sends").orElse(null);
        if (sends == null) {
            assertEquals(0, scripted.http.sent.size());
            assertEquals(InvalidRequestException.class, failure.getClass());
            assertEquals("invalidRequest", failure.code());
            assertEquals(Written.NO, failure.written());
            assertTrue(failure.getMessage().contains(Cases.text(given, "refuses")), failure.getMessage());
            return;
        }
        ScriptedHttp.Sent sent = scripted.http.sent.get(tries.size() - 1);
        assertEquals(Cases.text(sends, "path"), sent.uri().getPath());
        assertEquals(
                "application/json", sent.headers().firstValue("content-type").orElseThrow());
        Matching.assertSent(sends.get("body").orElseThrow(), Json.parse(sent.text()));
        sends.get("bodyContains")
                .map(Json::items)
                .orElse(List.of())
                .forEach(text -> assertTrue(sent.text().contains(text.as(String.class)), sent.text()));
    }

    private static Punctual.Builder clientOf(Json given, Punctual.Builder options) {
        Json client = given.get("client").orElse(Json.of(Map.of()));
        if (client.get("namespace").isPresent()) options.namespace(Cases.text(client, "namespace"));
        client.get("delayFrom").ifPresent(from -> options.delayFrom(from.as(DelayFrom.class)));
        return options;
    }

    /** The failure of the call of a case; null if it succeeds. */
    private static PunctualException failureOf(ScriptedClient scripted, Json given) {
        return failureOf(scripted.punctual, given);
    }

    private static PunctualException failureOf(Punctual punctual, Json given) {
        try {
            Operations.make(
                    punctual, Cases.text(given, "call"), given.get("request").orElseThrow());
            return null;
        } catch (PunctualException failure) {
            return failure;
        }
    }

    private static void answer(Json given) {
        ScriptedClient scripted = new ScriptedClient(ScriptedHttp.Try.answer(Cases.text(given, "answer")));
        Object value = Operations.make(
                scripted.punctual,
                Cases.text(given, "call"),
                given.get("request").orElseThrow());
        Matching.assertAnswer(given.get("value").orElseThrow(), value);
    }

    private static void problem(Json given) {
        ScriptedClient scripted =
                new ScriptedClient(List.of(ScriptedHttp.Try.of(given)), options -> options.maxRetries(0));
        PunctualException failure = failureOf(scripted, given);
        assertFailure(given.get("error").orElseThrow(), failure);
        String body = Optional.ofNullable(Cases.text(given, "body")).orElse("");
        if (body.startsWith("{")) {
            assertEquals(body, failure.problem().orElseThrow().json().text());
        }
        assertEquals(1, scripted.http.sent.size());
    }

    private static void assertFailure(Json expected, PunctualException failure) {
        if (failure == null) fail("the call succeeded");
        Map<String, Object> words = new LinkedHashMap<>();
        words.put("code", failure.code());
        String family = failure.getClass().getSimpleName().replace("Exception", "");
        words.put("family", family.substring(0, 1).toLowerCase() + family.substring(1));
        failure.status().ifPresent(status -> words.put("status", status));
        failure.requestId().ifPresent(requestId -> words.put("requestId", requestId));
        words.put("retryable", failure.isRetryable());
        words.put("written", failure.written().toString());
        failure.retryAfter().ifPresent(after -> words.put("retryAfterMs", after.toMillis()));
        expected.members()
                .forEach((name, value) -> assertEquals(Matching.plain(value), Matching.plain(words.get(name)), name));
    }

    private static void repeats(Json given) {
        List<Json> tries = given.get("tries").orElseThrow().items();
        ScriptedClient scripted =
                new ScriptedClient(tries.stream().map(ScriptedHttp.Try::of).toList(), options -> {
                    given.get("maxRetries").ifPresent(most -> options.maxRetries(most.as(int.class)));
                    return clientOf(given, options);
                });
        Punctual punctual = given.get("deadlineMs")
                .map(deadline -> scripted.punctual.withDeadline(ScriptedClient.NOW.plusMillis(deadline.as(long.class))))
                .orElse(scripted.punctual);
        PunctualException failure = failureOf(punctual, given);
        Json outcome = given.get("outcome").orElseThrow();
        if (outcome.isObject()) assertFailure(outcome, failure);
        else if (failure != null) fail(failure);
        assertEquals(tries.size(), scripted.http.sent.size());
        assertEquals(
                1,
                new HashSet<>(scripted.http.sent.stream()
                                .map(ScriptedHttp.Sent::text)
                                .toList())
                        .size());
        assertEquals(given.get("waitsMs").orElseThrow().value(), scripted.waitsMs);
    }

    private static void paging(Json given) {
        List<Json> pages = given.get("pages").orElseThrow().items();
        ScriptedClient scripted = new ScriptedClient(
                pages.stream()
                        .map(page -> ScriptedHttp.Try.answer(page.as(String.class)))
                        .toList(),
                options -> options);
        Operations.Call call = Operations.CALLS.get(Cases.text(given, "call"));
        Map<?, ?> request = (Map<?, ?>) Cases.nativeOf(given.get("request").orElseThrow());
        Paged<?> list = (Paged<?>) call.make(scripted.punctual, new Operations.Fields(request));
        if (given.get("fails").isPresent()) {
            Throwable failure = assertThrows(IllegalStateException.class, () -> list.forEach(item -> {}));
            assertTrue(failure.getMessage().contains("same cursor"));
        } else {
            assertEquals(given.get("ids").orElseThrow().value(), idsOf(list, given));
        }
        List<Object> cursors = new ArrayList<>();
        scripted.http.sent.forEach(sent -> cursors.add(
                Json.parse(sent.text()).get("cursor").map(Json::value).orElse(null)));
        assertEquals(given.get("cursors").orElseThrow().value(), cursors);
    }

    private static List<String> idsOf(Paged<?> list, Json given) {
        Optional<Integer> limit = given.get("limit").map(found -> found.as(int.class));
        if (limit.isPresent()) {
            return list.toList(limit.get()).stream()
                    .map(item -> ((Timer) item).timerId())
                    .toList();
        }
        int stopAfter = given.get("stopAfter").map(found -> found.as(int.class)).orElse(Integer.MAX_VALUE);
        List<String> ids = new ArrayList<>();
        for (Object item : list) {
            ids.add(((Timer) item).timerId());
            if (ids.size() == stopAfter) break;
        }
        return ids;
    }

    private static void duration(Json given) {
        Optional<Long> found = Durations.parse(Cases.text(given, "text")).map(Duration::toMillis);
        assertEquals(given.get("ms").orElseThrow().value(), found.orElse(null));
    }

    @Test
    void theRetryTableNamesTheSameOperationsWithTheSameRules() {
        Json table = Cases.file("retries.json");
        Map<String, Object> rules = new LinkedHashMap<>();
        Repeats.RULES.forEach((operation, rule) -> rules.put(operation, wordsOf(rule)));
        assertEquals(Matching.plain(table.get("operations").orElseThrow()), Matching.plain(Json.of(rules)));
        Map<String, Object> waits = Map.of(
                "firstWaitMs", Repeats.FIRST_WAIT_MS,
                "multiplier", Repeats.MULTIPLIER,
                "mostGrownMs", Repeats.MOST_GROWN_MS,
                "jitter", Repeats.JITTER,
                "longestWaitMs", Repeats.LONGEST_WAIT_MS);
        assertEquals(Matching.plain(table.get("waits").orElseThrow()), Matching.plain(Json.of(waits)));
    }

    private static Object wordsOf(Repeats.Rule rule) {
        if (rule instanceof Repeats.Always always) return always.kind();
        if (rule instanceof Repeats.WithValues values) return Map.of("as", values.kind(), "with", values.values());
        if (rule instanceof Repeats.Each each) return Map.of("each", each.field(), "like", each.like());
        Repeats.With with = (Repeats.With) rule;
        Map<String, Object> words = new LinkedHashMap<>(Map.of("as", with.kind(), "with", with.fields()));
        if (!with.without().isEmpty()) words.put("without", with.without());
        return words;
    }

    @TestFactory
    Stream<DynamicTest> failuresOfTheRetryTable() {
        return Cases.file("retries.json").get("failures").orElseThrow().items().stream()
                .map(row -> DynamicTest.dynamicTest(row.text(), () -> {
                    PunctualException failure = failureOfRow(row);
                    assertEquals(Cases.text(row, "written"), failure.written().toString());
                    List<String> kinds = Arrays.stream(Repeats.Kind.values())
                            .filter(kind -> Failures.mayRepeat(failure, kind))
                            .map(Repeats.Kind::toString)
                            .toList();
                    assertEquals(row.get("repeat").orElseThrow().value(), kinds);
                }));
    }

    private static PunctualException failureOfRow(Json row) {
        String name = Optional.ofNullable(Cases.text(row, "failure")).orElse("");
        switch (name) {
            case "timeout":
                return Failures.tookTooLong(Duration.ofMillis(1), "", Written.UNKNOWN);
            case "connectionRefused":
                return Failures.noAnswer(new java.net.ConnectException(), "", Duration.ZERO);
            case "connectionLost":
                return Failures.noAnswer(new java.io.IOException("reset"), "", Duration.ZERO);
            default:
                int status = row.get("status").orElseThrow().as(int.class);
                boolean isProblem = row.get("isProblem").isEmpty();
                Map<String, Object> problem = new LinkedHashMap<>(Map.of("code", "x", "detail", "d"));
                if (status == 503 || status == 429) problem.put("written", Cases.text(row, "written"));
                HttpHeaders none = HttpHeaders.of(Map.of(), (header, value) -> true);
                return Failures.badAnswer(
                        new AnswerText(
                                status, none, isProblem ? Json.of(problem).text() : ""),
                        "");
        }
    }
}
