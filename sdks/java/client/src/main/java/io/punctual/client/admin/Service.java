package io.punctual.client.admin;

import io.punctual.client.Punctual;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** The service as a whole. */
public final class Service {
    private final Punctual punctual;

    Service(Punctual punctual) {
        this.punctual = punctual;
    }

    /**
     * The time of the service, its pause and its program.
     *
     * @return the service
     */
    public ServiceAnswer get() {
        return punctual.exchange("service.get", Map.of(), ServiceAnswer.class);
    }

    /**
     * {@link #get()} without blocking.
     *
     * @return the service
     */
    public CompletableFuture<ServiceAnswer> getAsync() {
        return punctual.exchangeAsync("service.get", Map.of(), ServiceAnswer.class);
    }

    /**
     * The same as {@link #get()}, and the settings in force.
     *
     * @return the service
     */
    public ServiceAnswer getWithSettings() {
        return punctual.exchange("service.get", Map.of("settings", true), ServiceAnswer.class);
    }

    /**
     * {@link #getWithSettings()} without blocking.
     *
     * @return the service
     */
    public CompletableFuture<ServiceAnswer> getWithSettingsAsync() {
        return punctual.exchangeAsync("service.get", Map.of("settings", true), ServiceAnswer.class);
    }

    /**
     * Stops all firing. Timers are still accepted.
     *
     * @param reason why
     * @return the service
     */
    public ServiceAnswer pause(String reason) {
        return punctual.exchange("service.pause", Map.of("reason", reason), ServiceAnswer.class);
    }

    /**
     * {@link #pause(String)} without blocking.
     *
     * @param reason why
     * @return the service
     */
    public CompletableFuture<ServiceAnswer> pauseAsync(String reason) {
        return punctual.exchangeAsync("service.pause", Map.of("reason", reason), ServiceAnswer.class);
    }

    /**
     * Starts firing again.
     *
     * @return the service
     */
    public ServiceAnswer resume() {
        return punctual.exchange("service.resume", Map.of(), ServiceAnswer.class);
    }

    /**
     * {@link #resume()} without blocking.
     *
     * @return the service
     */
    public CompletableFuture<ServiceAnswer> resumeAsync() {
        return punctual.exchangeAsync("service.resume", Map.of(), ServiceAnswer.class);
    }

    /**
     * Starts firing again after a restore, also of timers that were due before.
     *
     * @return the service
     */
    public ServiceAnswer resumeAndFireOverdue() {
        return punctual.exchange("service.resume", Map.of("fireOverdue", true), ServiceAnswer.class);
    }

    /**
     * {@link #resumeAndFireOverdue()} without blocking.
     *
     * @return the service
     */
    public CompletableFuture<ServiceAnswer> resumeAndFireOverdueAsync() {
        return punctual.exchangeAsync("service.resume", Map.of("fireOverdue", true), ServiceAnswer.class);
    }
}
