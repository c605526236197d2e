package io.punctual.client.admin;

import io.punctual.client.Punctual;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Hosts that failed too often in a row. */
public final class Breakers {
    private final Punctual punctual;

    Breakers(Punctual punctual) {
        this.punctual = punctual;
    }

    /**
     * The open breakers of the node that answers.
     *
     * @return the breakers
     */
    public ListBreakersAnswer list() {
        return punctual.exchange("breakers.list", Map.of(), ListBreakersAnswer.class);
    }

    /**
     * {@link #list()} without blocking.
     *
     * @return the breakers
     */
    public CompletableFuture<ListBreakersAnswer> listAsync() {
        return punctual.exchangeAsync("breakers.list", Map.of(), ListBreakersAnswer.class);
    }

    /**
     * Tries a host again at once.
     *
     * @param host the host
     * @return how many breakers were closed
     */
    public ResetBreakersAnswer reset(String host) {
        return punctual.exchange("breakers.reset", Map.of("host", host), ResetBreakersAnswer.class);
    }

    /**
     * {@link #reset(String)} without blocking.
     *
     * @param host the host
     * @return how many breakers were closed
     */
    public CompletableFuture<ResetBreakersAnswer> resetAsync(String host) {
        return punctual.exchangeAsync("breakers.reset", Map.of("host", host), ResetBreakersAnswer.class);
    }
}
