package io.punctual.client.admin;

import io.punctual.client.Paged;
import io.punctual.client.Punctual;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Who may call the service. */
public final class Keys {
    private final Punctual punctual;

    Keys(Punctual punctual) {
        this.punctual = punctual;
    }

    /**
     * Makes a key. The client never repeats it after a time-out, so that there are not two.
     *
     * @param request the key
     * @return the key with its secret
     */
    public NewKeyAnswer create(CreateKey request) {
        return punctual.exchange("keys.create", request.fields(), NewKeyAnswer.class);
    }

    /**
     * {@link #create(CreateKey)} without blocking.
     *
     * @param request the key
     * @return the key with its secret
     */
    public CompletableFuture<NewKeyAnswer> createAsync(CreateKey request) {
        return punctual.exchangeAsync("keys.create", request.fields(), NewKeyAnswer.class);
    }

    /**
     * Gives a key a new secret. The old one stays valid for a day. The client never repeats it after a time-out.
     *
     * @param id its public id
     * @return the key with its new secret
     */
    public NewKeyAnswer rotate(String id) {
        return punctual.exchange("keys.rotate", Map.of("id", id), NewKeyAnswer.class);
    }

    /**
     * {@link #rotate(String)} without blocking.
     *
     * @param id its public id
     * @return the key with its new secret
     */
    public CompletableFuture<NewKeyAnswer> rotateAsync(String id) {
        return punctual.exchangeAsync("keys.rotate", Map.of("id", id), NewKeyAnswer.class);
    }

    /**
     * Gives a key a new secret. The client never repeats it after a time-out.
     *
     * @param id its public id
     * @param grace how long the old secret stays valid
     * @return the key with its new secret
     */
    public NewKeyAnswer rotate(String id, Duration grace) {
        return punctual.exchange("keys.rotate", Map.of("id", id, "grace", grace), NewKeyAnswer.class);
    }

    /**
     * {@link #rotate(String, Duration)} without blocking.
     *
     * @param id its public id
     * @param grace how long the old secret stays valid
     * @return the key with its new secret
     */
    public CompletableFuture<NewKeyAnswer> rotateAsync(String id, Duration grace) {
        return punctual.exchangeAsync("keys.rotate", Map.of("id", id, "grace", grace), NewKeyAnswer.class);
    }

    /**
     * Ends a key, on every node within a second.
     *
     * @param id its public id
     * @return the key
     */
    public Key revoke(String id) {
        return punctual.exchange("keys.revoke", Map.of("id", id), Answers.KeyAnswer.class)
                .key();
    }

    /**
     * {@link #revoke(String)} without blocking.
     *
     * @param id its public id
     * @return the key
     */
    public CompletableFuture<Key> revokeAsync(String id) {
        return punctual.exchangeAsync("keys.revoke", Map.of("id", id), Answers.KeyAnswer.class)
                .thenApply(Answers.KeyAnswer::key);
    }

    /**
     * Ends a key that others have seen. Who knows it may revoke it.
     *
     * @param apiKey its secret
     * @return what became of it
     */
    public LeakedKeyResult revokeLeaked(String apiKey) {
        return punctual.exchange("keys.revokeLeaked", Map.of("apiKey", apiKey), Answers.RevokeLeakedKeyAnswer.class)
                .result();
    }

    /**
     * {@link #revokeLeaked(String)} without blocking.
     *
     * @param apiKey its secret
     * @return what became of it
     */
    public CompletableFuture<LeakedKeyResult> revokeLeakedAsync(String apiKey) {
        return punctual.exchangeAsync(
                        "keys.revokeLeaked", Map.of("apiKey", apiKey), Answers.RevokeLeakedKeyAnswer.class)
                .thenApply(Answers.RevokeLeakedKeyAnswer::result);
    }

    /**
     * Confirms a key of a restored store.
     *
     * @param id its public id
     * @return the ids of the keys that are confirmed now
     */
    public List<String> confirm(String id) {
        return punctual.exchange("keys.confirm", Map.of("id", id), Answers.ConfirmKeysAnswer.class)
                .confirmed();
    }

    /**
     * {@link #confirm(String)} without blocking.
     *
     * @param id its public id
     * @return the ids of the keys that are confirmed now
     */
    public CompletableFuture<List<String>> confirmAsync(String id) {
        return punctual.exchangeAsync("keys.confirm", Map.of("id", id), Answers.ConfirmKeysAnswer.class)
                .thenApply(Answers.ConfirmKeysAnswer::confirmed);
    }

    /**
     * Confirms all keys of a restored store.
     *
     * @return the ids of the keys that are confirmed now
     */
    public List<String> confirmAll() {
        return punctual.exchange("keys.confirm", Map.of("all", true), Answers.ConfirmKeysAnswer.class)
                .confirmed();
    }

    /**
     * {@link #confirmAll()} without blocking.
     *
     * @return the ids of the keys that are confirmed now
     */
    public CompletableFuture<List<String>> confirmAllAsync() {
        return punctual.exchangeAsync("keys.confirm", Map.of("all", true), Answers.ConfirmKeysAnswer.class)
                .thenApply(Answers.ConfirmKeysAnswer::confirmed);
    }

    /**
     * One key, without its secret.
     *
     * @param id its public id
     * @return the key
     */
    public Key get(String id) {
        return punctual.exchange("keys.get", Map.of("id", id), Answers.KeyAnswer.class)
                .key();
    }

    /**
     * {@link #get(String)} without blocking.
     *
     * @param id its public id
     * @return the key
     */
    public CompletableFuture<Key> getAsync(String id) {
        return punctual.exchangeAsync("keys.get", Map.of("id", id), Answers.KeyAnswer.class)
                .thenApply(Answers.KeyAnswer::key);
    }

    /**
     * All keys, without their secrets.
     *
     * @return the list
     */
    public Paged<Key> list() {
        return punctual.list("keys.list", Map.of(), "keys", Key.class);
    }

    /**
     * Who calls, and what the caller may do.
     *
     * @return who
     */
    public SelfAnswer self() {
        return punctual.exchange("keys.self", Map.of(), SelfAnswer.class);
    }

    /**
     * {@link #self()} without blocking.
     *
     * @return who
     */
    public CompletableFuture<SelfAnswer> selfAsync() {
        return punctual.exchangeAsync("keys.self", Map.of(), SelfAnswer.class);
    }
}
