package io.punctual.client.admin;

import io.punctual.client.Json;
import io.punctual.client.Punctual;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Cookies in place of keys, for pages. A program has no use for them, unless it keeps cookies. */
public final class Sessions {
    private final Punctual punctual;

    Sessions(Punctual punctual) {
        this.punctual = punctual;
    }

    /**
     * Exchanges a key for a cookie.
     *
     * @param apiKey the key
     * @return the session
     */
    public SessionAnswer create(String apiKey) {
        return punctual.exchange("sessions.create", Map.of("apiKey", apiKey), SessionAnswer.class);
    }

    /**
     * {@link #create(String)} without blocking.
     *
     * @param apiKey the key
     * @return the session
     */
    public CompletableFuture<SessionAnswer> createAsync(String apiKey) {
        return punctual.exchangeAsync("sessions.create", Map.of("apiKey", apiKey), SessionAnswer.class);
    }

    /**
     * Ends the session of the cookie.
     */
    public void end() {
        punctual.exchange("sessions.end", Map.of(), Json.class);
    }

    /**
     * {@link #end()} without blocking.
     *
     * @return complete when it is done
     */
    public CompletableFuture<Void> endAsync() {
        return punctual.exchangeAsync("sessions.end", Map.of(), Json.class).thenApply(done -> null);
    }
}
