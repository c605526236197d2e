package io.punctual.client.admin;

import io.punctual.client.Paged;
import io.punctual.client.Punctual;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Settings of namespaces. */
public final class Namespaces {
    private final Punctual punctual;

    Namespaces(Punctual punctual) {
        this.punctual = punctual;
    }

    /**
     * Changes settings: secrets, retry policy, quotas, pause.
     *
     * @param request what to change
     * @return the settings after the change
     */
    public PutNamespaceAnswer put(PutNamespace request) {
        return punctual.exchange(
                "namespaces.put", Admin.inNamespace(punctual, request.fields()), PutNamespaceAnswer.class);
    }

    /**
     * {@link #put(PutNamespace)} without blocking.
     *
     * @param request what to change
     * @return the settings after the change
     */
    public CompletableFuture<PutNamespaceAnswer> putAsync(PutNamespace request) {
        return punctual.exchangeAsync(
                "namespaces.put", Admin.inNamespace(punctual, request.fields()), PutNamespaceAnswer.class);
    }

    /**
     * Settings and counts of the client's namespace.
     *
     * @return the settings
     */
    public NamespaceView get() {
        return punctual.exchange("namespaces.get", Admin.inNamespace(punctual, Map.of()), Answers.NamespaceAnswer.class)
                .settings();
    }

    /**
     * {@link #get()} without blocking.
     *
     * @return the settings
     */
    public CompletableFuture<NamespaceView> getAsync() {
        return punctual.exchangeAsync(
                        "namespaces.get", Admin.inNamespace(punctual, Map.of()), Answers.NamespaceAnswer.class)
                .thenApply(Answers.NamespaceAnswer::settings);
    }

    /**
     * Settings and counts of a namespace.
     *
     * @param namespace its name
     * @return the settings
     */
    public NamespaceView get(String namespace) {
        return punctual.exchange("namespaces.get", Map.of("namespace", namespace), Answers.NamespaceAnswer.class)
                .settings();
    }

    /**
     * {@link #get(String)} without blocking.
     *
     * @param namespace its name
     * @return the settings
     */
    public CompletableFuture<NamespaceView> getAsync(String namespace) {
        return punctual.exchangeAsync("namespaces.get", Map.of("namespace", namespace), Answers.NamespaceAnswer.class)
                .thenApply(Answers.NamespaceAnswer::settings);
    }

    /**
     * All namespaces that the key may read, by name.
     *
     * @return the list
     */
    public Paged<NamespaceView> list() {
        return punctual.list("namespaces.list", Map.of(), "namespaces", NamespaceView.class);
    }

    /**
     * The namespaces whose name begins like this.
     *
     * @param prefix the first part of the name
     * @return the list
     */
    public Paged<NamespaceView> list(String prefix) {
        return punctual.list("namespaces.list", Map.of("prefix", prefix), "namespaces", NamespaceView.class);
    }
}
