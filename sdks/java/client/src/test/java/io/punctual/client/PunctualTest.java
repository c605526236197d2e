package io.punctual.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.punctual.client.ScriptedHttp.Try;
import io.punctual.client.webhooks.QuietLogger;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.net.http.HttpClient;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

@DisplayName("the client")
class PunctualTest {
    private static final String COUNT = "{\"count\":0,\"capped\":false}";

    @Test
    @DisplayName("takes the URL and the key from the environment if they are left out")
    void environment() {
        Map<String, String> variables =
                Map.of("TIMER_URL", "http://service.test/below/", "TIMER_API_KEY", "pnct_environment");
        List<String> keys = new ArrayList<>();
        for (String kind : List.of("environment", "given", "read", "none", "last")) {
            ScriptedHttp http = new ScriptedHttp(List.of(Try.answer(COUNT)));
            Punctual.Builder builder =
                    Punctual.builder().namespace("a").httpClient(http).environment(variables::get);
            if (kind.equals("given")) builder.key("pnct_given");
            if (kind.equals("read")) builder.key(() -> "pnct_read");
            if (kind.equals("none")) builder.key("pnct_given").withoutKey();
            if (kind.equals("last")) builder.withoutKey().key("pnct_last");
            builder.build().timers().count(new CountTimers());
            keys.add(http.sent.get(0).headers().firstValue("authorization").orElse("none"));
            assertEquals(
                    "http://service.test/below/api/v1/timers/count",
                    http.sent.get(0).uri().toString());
        }
        assertEquals(
                List.of("Bearer pnct_environment", "Bearer pnct_given", "Bearer pnct_read", "none", "Bearer pnct_last"),
                keys);
    }

    @Test
    @DisplayName("refuses wrong options when it is made")
    void wrongOptions() {
        Punctual.Builder empty = Punctual.builder().environment(name -> null);
        assertTrue(assertThrows(IllegalArgumentException.class, empty::build)
                .getMessage()
                .contains("TIMER_URL"));
        for (String url : List.of("", "service:8080", "ftp://x", "http://user:secret@x", "http://x?a=1", "http://my_host:80", "http://a b")) {
            Punctual.Builder builder =
                    Punctual.builder().environment(name -> null).url(url);
            assertTrue(
                    assertThrows(IllegalArgumentException.class, builder::build)
                            .getMessage()
                            .contains("url"),
                    url);
        }
        assertThrows(IllegalArgumentException.class, () -> Punctual.builder().timeout(Duration.ZERO));
        assertThrows(
                IllegalArgumentException.class, () -> Punctual.builder().timeout(ChronoUnit.FOREVER.getDuration()));
        for (Executable absent : List.<Executable>of(
                () -> Punctual.builder().timeout(null),
                () -> Punctual.builder().hooks(null),
                () -> Punctual.builder().logger(null),
                () -> Punctual.builder().delayFrom(null),
                () -> Punctual.builder().key((Supplier<String>) null))) {
            assertTrue(assertThrows(NullPointerException.class, absent).getMessage().length() > 2);
        }
        assertThrows(IllegalArgumentException.class, () -> Punctual.builder().maxRetries(-1));
        HttpClient following = HttpClient.newBuilder()
                .followRedirects(HttpClient.Redirect.ALWAYS)
                .build();
        Punctual.Builder builder = Punctual.builder().url("http://service.test").httpClient(following);
        assertTrue(assertThrows(IllegalArgumentException.class, builder::build)
                .getMessage()
                .contains("redirects"));
    }

    @Test
    @DisplayName("sends the headers of the client and of the view, and never shows a wrong key")
    void headers() {
        ScriptedClient scripted = new ScriptedClient(List.of(Try.answer(COUNT)), options -> options.header("x-a", "1"));
        scripted.punctual.withHeader("x-b", "2").timers().count(new CountTimers());
        Map<String, List<String>> sent =
                new HashMap<>(scripted.http.sent.get(0).headers().map());
        assertEquals(List.of("1"), sent.get("x-a"));
        assertEquals(List.of("2"), sent.get("x-b"));
        ScriptedClient twice = new ScriptedClient(List.of(Try.answer(COUNT)), options -> options.header("x-a", "1"));
        twice.punctual.withHeader("X-A", "2").timers().count(new CountTimers());
        assertEquals(List.of("2"), twice.http.sent.get(0).headers().allValues("x-a"));
        Throwable unsendable =
                assertThrows(IllegalArgumentException.class, () -> twice.punctual.withHeader("x-a", "secret\n"));
        assertFalse(unsendable.toString().contains("secret"), unsendable.toString());
        ScriptedClient wrong = new ScriptedClient(List.of(), options -> options.key("pnct_secret\n"));
        Throwable refused = assertThrows(
                IllegalArgumentException.class, () -> wrong.punctual.timers().get("a"));
        assertFalse(refused.getMessage().contains("pnct_secret"));
    }

    @Test
    @DisplayName("a function for the key that fails ends the call with its own exception")
    void failingKey() {
        ScriptedClient scripted = new ScriptedClient(
                List.of(),
                options -> options.key(() -> {
                    throw new IllegalStateException("the vault is closed");
                }));
        Throwable failure = assertThrows(
                IllegalStateException.class, () -> scripted.punctual.timers().get("a"));
        assertEquals("the vault is closed", failure.getMessage());
    }

    @Test
    @DisplayName("hooks see each try, and one that throws changes nothing")
    void hooks() {
        List<Object> seen = new ArrayList<>();
        QuietLogger logger = new QuietLogger();
        Hooks hooks = new Hooks() {
            @Override
            public void onRequest(RequestEvent event) {
                seen.add(event);
            }

            @Override
            public void onAnswer(AnswerEvent event) {
                seen.add(event.status() + " " + event.requestId().orElseThrow());
                throw new IllegalStateException("a mistake in the hook");
            }

            @Override
            public void onFailure(FailureEvent event) {
                seen.add(event.exception().code());
            }
        };
        List<Try> tries = List.of(Try.failure("lost"), new Try(null, 200, Map.of("x-request-id", "r-1"), COUNT));
        ScriptedClient scripted =
                new ScriptedClient(tries, options -> options.hooks(hooks).logger(logger));
        assertEquals(0, scripted.punctual.timers().count(new CountTimers()).count());
        assertEquals(
                List.of(
                        new Hooks.RequestEvent("timers.count", 1),
                        "connectionLost",
                        new Hooks.RequestEvent("timers.count", 2),
                        "200 r-1"),
                seen);
        assertEquals(1, logger.warnings.size());
        assertTrue(logger.warnings.get(0).contains("a mistake in the hook"));
    }

    @Test
    @DisplayName("logs a difference of the clocks once, and its end too")
    void clocks() {
        QuietLogger logger = new QuietLogger();
        Try late = new Try(null, 200, Map.of("date", "Tue, 01 Jan 2030 00:01:00 GMT"), "{}");
        Try right = new Try(null, 200, Map.of("date", "Tue, 01 Jan 2030 00:00:00 GMT"), "{}");
        ScriptedClient scripted = new ScriptedClient(List.of(late, late, right), options -> options.logger(logger));
        for (int call = 0; call < 3; call++) scripted.punctual.exchange("service.get", Map.of(), Json.class);
        assertEquals(2, logger.warnings.size());
        assertTrue(logger.warnings.get(0).contains("61 s ahead"));
        assertTrue(logger.warnings.get(1).contains("agree again"));
    }

    @Test
    @DisplayName("a deadline that has passed sends nothing, and one that comes ends the try")
    void deadlines() {
        ScriptedClient scripted = new ScriptedClient(List.of(Try.failure("timeout")), options -> options.maxRetries(0)
                .timeout(Duration.ofMinutes(1)));
        Timers past = scripted.punctual.withDeadline(ScriptedClient.NOW).timers();
        PunctualException early = assertThrows(ConnectionException.class, () -> past.cancel("a"));
        assertEquals("timeout", early.code());
        assertEquals(Written.NO, early.written());
        assertEquals(0, scripted.http.sent.size());
        Timers soon =
                scripted.punctual.withDeadline(ScriptedClient.NOW.plusMillis(1)).timers();
        PunctualException late = assertThrows(ConnectionException.class, () -> soon.cancel("a"));
        assertEquals("timeout", late.code());
        assertEquals(Written.UNKNOWN, late.written());
        assertEquals(1, scripted.http.sent.size());
        ScriptedClient patient = new ScriptedClient(Try.failure("lost"), Try.answer(COUNT));
        Timers endless = patient.punctual.withDeadline(Instant.MAX).timers();
        assertEquals(0, endless.count(new CountTimers()).count());
    }

    @Test
    @DisplayName("a future fails with the same exception, and the blocking call shows its caller's stack")
    void futures() {
        ScriptedClient scripted = new ScriptedClient(Try.failure("lost"));
        CompletableFuture<CancelManyTimersAnswer> future =
                scripted.punctual.timers().cancelManyAsync(new CancelManyTimers().all());
        Throwable thrown = assertThrows(CompletionException.class, future::join);
        assertEquals(
                "connectionLost",
                assertInstanceOf(ConnectionException.class, thrown.getCause()).code());
        PunctualException blocking =
                assertThrows(ConnectionException.class, () -> new ScriptedClient(Try.failure("lost"))
                        .punctual
                        .timers()
                        .cancelMany(new CancelManyTimers().all()));
        assertTrue(List.of(blocking.getStackTrace()).toString().contains("PunctualTest"));
    }

    @Test
    @DisplayName("a request that the client refuses fails the future, and the call itself throws nothing")
    void refusedFutures() {
        Timers timers = new ScriptedClient().punctual.timers();
        for (CompletableFuture<?> future : List.of(
                timers.createAsync(new CreateTimer().timerId("")),
                timers.createManyAsync(List.of()),
                timers.getAsync(""),
                timers.cancelAsync(null),
                timers.cancelManyAsync(new CancelManyTimers()))) {
            Throwable thrown = assertThrows(CompletionException.class, future::join);
            assertInstanceOf(InvalidRequestException.class, thrown.getCause());
        }
        // Nothing writes this as JSON, also not Jackson.
        CompletableFuture<?> unwritable =
                timers.createAsync(new CreateTimer().delay("1h").payload(Double.NaN));
        Throwable thrown = assertThrows(CompletionException.class, unwritable::join);
        assertInstanceOf(IllegalArgumentException.class, thrown.getCause());
    }

    @Test
    @DisplayName("hooks and later tries do not run on the thread of the JDK's timer, which all programs share")
    void threads() {
        List<String> threads = new CopyOnWriteArrayList<>();
        ScriptedHttp http = new ScriptedHttp(List.of(Try.failure("timeout"), Try.answer(COUNT)));
        Punctual punctual = Punctual.builder()
                .url("http://service.test")
                .withoutKey()
                .namespace("billing")
                .timeout(Duration.ofMillis(100))
                .httpClient(http)
                .hooks(new Hooks() {
                    @Override
                    public void onFailure(FailureEvent event) {
                        threads.add(Thread.currentThread().getName());
                    }

                    @Override
                    public void onRequest(RequestEvent event) {
                        if (event.attempt() == 2)
                            threads.add(Thread.currentThread().getName());
                    }
                })
                .build();
        assertEquals(0, punctual.timers().count(new CountTimers()).count());
        assertEquals(2, threads.size());
        threads.forEach(name -> assertFalse(name.contains("DelayScheduler"), name));
    }

    @Test
    @DisplayName("an exception that was serialized still says what happened")
    void serialized() throws IOException, ClassNotFoundException {
        Try overloaded = new Try(
                null,
                503,
                Map.of("x-request-id", "r-1", "retry-after", "7"),
                "{\"code\":\"overloaded\",\"detail\":\"d\",\"written\":\"no\"}");
        ScriptedClient scripted = new ScriptedClient(List.of(overloaded), options -> options.maxRetries(0));
        PunctualException failure = assertThrows(
                UnavailableException.class, () -> scripted.punctual.timers().get("a"));
        assertTrue(failure.problem().isPresent());
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(failure);
        }
        PunctualException read;
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            read = assertInstanceOf(UnavailableException.class, in.readObject());
        }
        assertEquals("overloaded", read.code());
        assertEquals(503, read.status().orElseThrow());
        assertEquals("r-1", read.requestId().orElseThrow());
        assertEquals(Written.NO, read.written());
        assertEquals(Duration.ofSeconds(7), read.retryAfter().orElseThrow());
        assertTrue(read.isRetryable());
        assertTrue(read.problem().isEmpty());
    }

    @Test
    @DisplayName("a failed TLS handshake is no connection, so nothing was written")
    void handshakes() {
        PunctualException failure =
                Failures.noAnswer(new SSLHandshakeException("no trusted certificate"), "x", Duration.ZERO);
        assertEquals("connectionRefused", failure.code());
        assertEquals(Written.NO, failure.written());
    }

    @Test
    @DisplayName("a cancel of a future, or of a stage made from it, ends the request")
    void cancels() {
        List<Try> hanging = List.of(Try.failure("timeout"));
        ScriptedClient scripted = new ScriptedClient(hanging, options -> options.timeout(Duration.ofMinutes(1)));
        CompletableFuture<String> stage = scripted.punctual
                .timers()
                .getAsync("a")
                .thenApply(Timer::timerId)
                .thenApply(String::strip);
        assertTrue(stage.cancel(true));
        assertTrue(scripted.http.hanging.get(0).isCancelled());
    }

    @Test
    @DisplayName("an interrupt ends a call, and says that it may have been carried out; an earlier one sends nothing")
    void interrupts() throws InterruptedException {
        List<Try> hanging = List.of(Try.failure("timeout"));
        ScriptedClient scripted = new ScriptedClient(hanging, options -> options.timeout(Duration.ofMinutes(1)));
        List<PunctualException> failures = new ArrayList<>();
        Thread caller = new Thread(() -> {
            for (int call = 0; call < 2; call++) {
                try {
                    scripted.punctual.timers().cancel("a");
                } catch (PunctualException failure) {
                    failures.add(failure);
                }
            }
        });
        caller.start();
        while (scripted.http.hanging.isEmpty()) Thread.onSpinWait();
        caller.interrupt();
        caller.join();
        assertEquals(
                List.of("aborted", "aborted"),
                failures.stream().map(PunctualException::code).toList());
        assertEquals(
                List.of(Written.UNKNOWN, Written.NO),
                failures.stream().map(PunctualException::written).toList());
        assertTrue(scripted.http.hanging.get(0).isCancelled());
        assertEquals(1, scripted.http.sent.size());
    }

    @Test
    @DisplayName("an answer that lacks a field is not readable, and names the field")
    void missingField() {
        ScriptedClient scripted = new ScriptedClient(Try.answer("{\"timer\":{\"namespace\":\"billing\"}}"));
        PunctualException failure = assertThrows(
                ConnectionException.class, () -> scripted.punctual.timers().get("a"));
        assertEquals("unreadableAnswer", failure.code());
        assertTrue(failure.getMessage().contains("timerId is missing"), failure.getMessage());
    }

    @Test
    @DisplayName("requests, answers and targets show no payload and no header as text")
    void showsNoPayload() {
        String timer = "{\"namespace\":\"a\",\"timerId\":\"b\",\"state\":\"pending\",\"revision\":1,\"fireId\":\"f\","
                + "\"executeAt\":\"2030-01-01T00:00:00Z\",\"attempts\":0,\"payload\":\"secret\",\"target\":{\"type\":"
                + "\"webhook\",\"url\":\"http://x/\",\"method\":\"POST\",\"headers\":{\"authorization\":\"secret\"},"
                + "\"timeout\":\"15s\",\"body\":\"envelope\"},\"retryPolicy\":{\"waits\":[]},\"correlationId\":\"c\","
                + "\"createdAt\":\"2030-01-01T00:00:00Z\",\"updatedAt\":\"2030-01-01T00:00:00Z\"}";
        String created = "{\"result\":\"created\",\"timer\":" + timer + "}";
        Timers timers = new ScriptedClient(
                        Try.answer(created), Try.answer(created), Try.answer("{\"timers\":[" + timer + "]}"))
                .punctual.timers();
        CreateTimerAnswer answer =
                timers.create(new CreateTimer().delay("1h").callbackUrl("http://x/"));
        assertEquals(
                List.of(
                        "CreateTimerAnswer[created, Timer[a/b pending revision 1], warnings=[]]",
                        "WebhookTarget[POST http://x/ headers=[authorization]]",
                        "UpdateTimerAnswer[Timer[a/b pending revision 1], warnings=[]]",
                        "Page[items=[Timer[a/b pending revision 1]], nextCursor=none]"),
                List.of(
                        answer.toString(),
                        answer.timer().target().toString(),
                        timers.update(new UpdateTimer("b").payload("secret")).toString(),
                        timers.list().page().toString()));
        assertEquals(
                "CreateTimer[timerId, payload]",
                new CreateTimer().timerId("a").payload("secret").toString());
        assertEquals(
                "CreateTimer[timerId]",
                new CreateTimer().timerId("a").payload("secret").payload(null).toString());
    }

    @Test
    @DisplayName("a negative or endless duration is refused with its field")
    void wrongDuration() {
        Throwable refused =
                assertThrows(InvalidRequestException.class, () -> new CreateTimer().delay(Duration.ofSeconds(-1)));
        assertTrue(refused.getMessage().startsWith("delay "));
        assertEquals("1d1h1m1s1ms", Durations.text(Duration.ofMillis(90_061_001)));
        assertEquals("0s", Durations.text(Duration.ZERO));
    }

    @Test
    @DisplayName("null clears a duration of a timer, whatever its type")
    void clearedDuration() {
        Map<String, Object> cleared = new HashMap<>();
        cleared.put("timerId", "a");
        cleared.put("expireAfter", null);
        assertEquals(cleared, new UpdateTimer("a").expireAfter((Duration) null).fields());
        assertEquals(cleared, new UpdateTimer("a").expireAfter((String) null).fields());
    }
}
