package io.punctual.client;

import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/**
 * The way to one service: it sends single tries with the key and a time limit, and compares the clock of the service
 * with the local one, because the client turns delays into instants. {@link Sending} repeats tries.
 */
final class Connection {
    /** Enough for a page of timers with the largest payloads. */
    private static final int ANSWER_BYTES_MAX = 128 * 1024 * 1024;
    /** The header {@code date} has whole seconds, and answers take a while. */
    private static final long CLOCK_TOLERANCE_MS = 2_000;

    private final String url;
    /** Null for a service without keys. */
    private final Supplier<String> key;

    private final HttpClient http;
    private final System.Logger logger;
    private final Hooks hooks;
    private final Surroundings surroundings;
    private volatile long serverAheadMs;

    Connection(
            String url,
            Supplier<String> key,
            HttpClient http,
            System.Logger logger,
            Hooks hooks,
            Surroundings surroundings) {
        this.url = url;
        this.key = key;
        this.http = http;
        this.logger = logger;
        this.hooks = hooks;
        this.surroundings = surroundings;
    }

    Surroundings surroundings() {
        return surroundings;
    }

    System.Logger logger() {
        return logger;
    }

    /** The time of the service, as far as its answers have shown it. */
    long nowMs() {
        return surroundings.nowMs() + serverAheadMs;
    }

    /** One request and its complete answer, within the time limit. The future fails with a PunctualException. */
    CompletableFuture<AnswerText> tryOnce(Outgoing outgoing, int attempt, CallSettings settings) {
        long startedMs = surroundings.nowMs();
        tell(() -> hooks.onRequest(new Hooks.RequestEvent(outgoing.operation(), attempt)));
        Duration limit = limitOf(settings);
        CompletableFuture<AnswerText> result = limit.isZero() || limit.isNegative()
                ? CompletableFuture.failedFuture(Failures.tookTooLong(Duration.ZERO, url, Written.NO))
                : exchanged(outgoing, settings, limit);
        return result.handle((answer, thrown) -> {
            Duration duration = Duration.ofMillis(surroundings.nowMs() - startedMs);
            if (answer != null) compareClocks(answer, startedMs, surroundings.nowMs());
            if (answer != null && answer.status() == 200) {
                tell(() -> hooks.onAnswer(new Hooks.AnswerEvent(
                        outgoing.operation(), attempt, answer.status(), answer.requestId(), duration)));
                return answer;
            }
            PunctualException failed =
                    answer == null ? Failures.noAnswer(thrown, url, limit) : Failures.badAnswer(answer, url);
            tell(() -> hooks.onFailure(new Hooks.FailureEvent(outgoing.operation(), attempt, failed, duration)));
            throw failed;
        });
    }

    private CompletableFuture<AnswerText> exchanged(Outgoing outgoing, CallSettings settings, Duration limit) {
        HttpRequest request = requestTo(outgoing.path(), settings, Map.of("content-type", "application/json"))
                .timeout(limit)
                .POST(HttpRequest.BodyPublishers.ofString(outgoing.body()))
                .build();
        return whole(http.sendAsync(request, answer -> new BoundedBody(ANSWER_BYTES_MAX)), limit);
    }

    /** The limit of the request ends with the headers of the answer, so the body needs one of its own. */
    private static CompletableFuture<AnswerText> whole(CompletableFuture<HttpResponse<byte[]>> sent, Duration limit) {
        CompletableFuture<AnswerText> answer = new CancellableFuture<>(() -> sent.cancel(true), () -> Written.UNKNOWN);
        sent.whenComplete((response, thrown) -> {
            if (thrown != null) answer.completeExceptionally(thrown);
            else {
                String text = new String(response.body(), StandardCharsets.UTF_8);
                answer.complete(new AnswerText(response.statusCode(), response.headers(), text));
            }
        });
        CompletableFuture<Void> limiting =
                new CompletableFuture<Void>().completeOnTimeout(null, limit.toMillis(), TimeUnit.MILLISECONDS);
        // Not on the thread of the timer. It is the only one of the JVM, and what follows can be code of the caller.
        limiting.thenRunAsync(() -> {
            if (answer.completeExceptionally(new TimeoutException())) sent.cancel(true);
        });
        answer.whenComplete((text, thrown) -> limiting.cancel(false));
        return answer;
    }

    /** Begins to read an answer that does not end. */
    HttpResponse<InputStream> open(String path, Map<String, String> headers, CallSettings settings) {
        Duration limit = limitOf(settings);
        if (limit.isZero() || limit.isNegative()) throw Failures.tookTooLong(Duration.ZERO, url, Written.NO);
        HttpRequest request =
                requestTo(path, settings, headers).timeout(limit).GET().build();
        return CancellableFuture.await(() -> {
            CompletableFuture<HttpResponse<InputStream>> sent = http.sendAsync(request, answer -> new StreamedBody());
            CompletableFuture<HttpResponse<InputStream>> opened =
                    new CancellableFuture<>(() -> sent.cancel(true), () -> Written.NO);
            sent.whenComplete((response, thrown) -> {
                if (thrown == null) opened.complete(response);
                else
                    opened.completeExceptionally(
                            Failures.withWritten(Failures.noAnswer(thrown, url, limit), Written.NO));
            });
            return opened;
        });
    }

    /** The failure of a stream that was opened, or of its reading. */
    PunctualException streamFailure(Throwable thrown) {
        return Failures.withWritten(
                Failures.noAnswer(thrown, "the stream of events of " + url, Duration.ZERO), Written.NO);
    }

    /** The failure of an answer that refuses a stream. */
    PunctualException refusal(HttpResponse<InputStream> response, String text) {
        AnswerText answer = new AnswerText(response.statusCode(), response.headers(), text);
        return Failures.withWritten(Failures.badAnswer(answer, url), Written.NO);
    }

    private HttpRequest.Builder requestTo(String path, CallSettings settings, Map<String, String> headers) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + "/api/v1/" + path));
        settings.headers().forEach(request::setHeader);
        headers.forEach(request::setHeader);
        if (key == null) return request;
        String text = key.get();
        // The message of the HTTP client would show the key.
        if (text == null || !text.matches("[!-~]+")) {
            throw new IllegalArgumentException("the key must have visible ASCII characters only, and at least one");
        }
        return request.setHeader("authorization", "Bearer " + text);
    }

    private Duration limitOf(CallSettings settings) {
        if (settings.deadline() == null) return settings.timeout();
        Duration left = Duration.between(Instant.ofEpochMilli(surroundings.nowMs()), settings.deadline());
        return left.compareTo(settings.timeout()) < 0 ? left : settings.timeout();
    }

    private void compareClocks(AnswerText answer, long startedMs, long endedMs) {
        Long dateMs = answer.header("date").map(Connection::epochMs).orElse(null);
        if (dateMs == null) return;
        // The header is the second in which the service answered, so on average it is half a second old.
        long aheadMs = Math.round(dateMs + 500 - (startedMs + endedMs) / 2.0);
        boolean isApart = Math.abs(aheadMs) > CLOCK_TOLERANCE_MS + (endedMs - startedMs) / 2.0;
        boolean wasApart = serverAheadMs != 0;
        serverAheadMs = isApart ? aheadMs : 0;
        if (isApart && !wasApart) {
            logger.log(
                    System.Logger.Level.WARNING,
                    "punctual: the clock of the service is " + Math.round(aheadMs / 1000.0)
                            + " s ahead of the local clock. Delays are corrected from now on.");
        } else if (wasApart && !isApart) {
            logger.log(
                    System.Logger.Level.WARNING, "punctual: the local clock and the clock of the service agree again");
        }
    }

    private static Long epochMs(String date) {
        try {
            return ZonedDateTime.parse(date, DateTimeFormatter.RFC_1123_DATE_TIME)
                    .toInstant()
                    .toEpochMilli();
        } catch (DateTimeException noDate) {
            return null;
        }
    }

    /** A hook must not change the outcome of a call. */
    private void tell(Runnable hook) {
        try {
            hook.run();
        } catch (RuntimeException failure) {
            logger.log(System.Logger.Level.WARNING, "punctual: a hook failed: " + failure);
        }
    }
}
