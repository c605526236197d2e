package io.punctual.client;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;

/** A client whose tries follow a script. Its time stands still, except for waits. */
final class ScriptedClient implements Surroundings {
    static final Instant NOW = Instant.parse("2030-01-01T00:00:00Z");

    final ScriptedHttp http;
    final Punctual punctual;
    final List<Long> waitsMs = new ArrayList<>();
    private long nowMs = NOW.toEpochMilli();

    ScriptedClient(ScriptedHttp.Try... tries) {
        this(List.of(tries), options -> options);
    }

    ScriptedClient(List<ScriptedHttp.Try> tries, UnaryOperator<Punctual.Builder> options) {
        http = new ScriptedHttp(tries);
        // A scripted time-out never answers, so any limit will do.
        boolean hasTimeout = tries.stream().anyMatch(entry -> "timeout".equals(entry.failure()));
        Punctual.Builder builder = Punctual.builder()
                .url("http://service.test")
                .namespace("billing")
                .timeout(hasTimeout ? Duration.ofMillis(1) : Duration.ofMinutes(1));
        punctual = options.apply(builder)
                .environment(name -> null)
                .surroundings(this)
                .httpClient(http)
                .build();
    }

    @Override
    public long nowMs() {
        return nowMs;
    }

    @Override
    public double random() {
        return 0;
    }

    @Override
    public CompletableFuture<Void> sleep(Duration wait) {
        waitsMs.add(wait.toMillis());
        nowMs += wait.toMillis();
        return CompletableFuture.completedFuture(null);
    }
}
