package io.punctual.client.admin;

import io.punctual.client.Json;
import io.punctual.client.Paged;
import io.punctual.client.Punctual;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Messages from the broker that could not be handled. */
public final class Messages {
    private final Punctual punctual;

    Messages(Punctual punctual) {
        this.punctual = punctual;
    }

    /**
     * All such messages that the key may read.
     *
     * @return the list
     */
    public Paged<ListedMessage> list() {
        return punctual.list("messages.list", Map.of(), "messages", ListedMessage.class);
    }

    /**
     * Such messages of a namespace.
     *
     * @param namespace its name
     * @return the list
     */
    public Paged<ListedMessage> list(String namespace) {
        return punctual.list("messages.list", Map.of("namespace", namespace), "messages", ListedMessage.class);
    }

    /**
     * One message of the client's namespace, with its content.
     *
     * @param id its id
     * @return the message
     */
    public StoredMessage get(String id) {
        return punctual.exchange(
                        "messages.get", Admin.inNamespace(punctual, Map.of("id", id)), Answers.MessageAnswer.class)
                .message();
    }

    /**
     * {@link #get(String)} without blocking.
     *
     * @param id its id
     * @return the message
     */
    public CompletableFuture<StoredMessage> getAsync(String id) {
        return punctual.exchangeAsync(
                        "messages.get", Admin.inNamespace(punctual, Map.of("id", id)), Answers.MessageAnswer.class)
                .thenApply(Answers.MessageAnswer::message);
    }

    /**
     * Handles a message of the client's namespace again. The client never repeats it after a time-out.
     *
     * @param id its id
     * @return what that did
     */
    public ReplayMessageResult replay(String id) {
        return punctual.exchange(
                        "messages.replay",
                        Admin.inNamespace(punctual, Map.of("id", id)),
                        Answers.ReplayMessageAnswer.class)
                .result();
    }

    /**
     * {@link #replay(String)} without blocking.
     *
     * @param id its id
     * @return what that did
     */
    public CompletableFuture<ReplayMessageResult> replayAsync(String id) {
        return punctual.exchangeAsync(
                        "messages.replay",
                        Admin.inNamespace(punctual, Map.of("id", id)),
                        Answers.ReplayMessageAnswer.class)
                .thenApply(Answers.ReplayMessageAnswer::result);
    }

    /**
     * Removes a message of the client's namespace. The client never repeats it after a time-out.
     *
     * @param id its id
     */
    public void discard(String id) {
        punctual.exchange("messages.discard", Admin.inNamespace(punctual, Map.of("id", id)), Json.class);
    }

    /**
     * {@link #discard(String)} without blocking.
     *
     * @param id its id
     * @return complete when it is done
     */
    public CompletableFuture<Void> discardAsync(String id) {
        return punctual.exchangeAsync("messages.discard", Admin.inNamespace(punctual, Map.of("id", id)), Json.class)
                .thenApply(done -> null);
    }
}
