package io.punctual.client;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * The calls about timers, as {@link Punctual#timers()}. Each call exists twice: one blocks the thread, and {@code
 * …Async} answers a future. A call that fails throws a {@link PunctualException}, or its future fails with one, also if
 * the client refuses to send the request.
 */
public final class Timers {
    private final Punctual punctual;
    private final CompleteRequest complete;

    Timers(Punctual punctual, CompleteRequest complete) {
        this.punctual = punctual;
        this.complete = complete;
    }

    /**
     * Creates a timer. When this returns, the timer is on stable storage. The client repeats the call after a time-out,
     * unless {@code onExisting} is {@code FAIL}; the result can then be {@code UNCHANGED} instead of {@code CREATED}.
     *
     * @param request the timer
     * @return the timer, and what the create did
     */
    public CreateTimerAnswer create(CreateTimer request) {
        return CancellableFuture.await(() -> createAsync(request));
    }

    /**
     * {@link #create(CreateTimer)} without blocking.
     *
     * @param request the timer
     * @return the timer, and what the create did
     */
    public CompletableFuture<CreateTimerAnswer> createAsync(CreateTimer request) {
        return send("timers.create", () -> complete.create(request.fields()), CreateTimerAnswer.class);
    }

    /**
     * Creates up to 1,000 timers in one call. One that the service refuses does not affect the others.
     *
     * @param requests the timers
     * @return for each timer, in the same order, what became of it
     */
    public List<CreateManyItem> createMany(List<CreateTimer> requests) {
        return CancellableFuture.await(() -> createManyAsync(requests));
    }

    /**
     * {@link #createMany(List)} without blocking.
     *
     * @param requests the timers
     * @return for each timer, in the same order, what became of it
     */
    public CompletableFuture<List<CreateManyItem>> createManyAsync(List<CreateTimer> requests) {
        return punctual.send("timers.createMany", () -> Map.of("timers", completed(requests)), Timers::itemsOf);
    }

    /**
     * The pending timer with this id, or else the one that finished last.
     *
     * @param timerId your id of the timer
     * @return the timer
     */
    public Timer get(String timerId) {
        return CancellableFuture.await(() -> getAsync(timerId));
    }

    /**
     * {@link #get(String)} without blocking.
     *
     * @param timerId your id of the timer
     * @return the timer
     */
    public CompletableFuture<Timer> getAsync(String timerId) {
        return punctual.send(
                "timers.get", () -> complete.ofTimer(idOf(timerId)), answer -> member(answer, "timer", Timer.class));
    }

    /**
     * Changes a pending timer. With {@code ifRevision} the client repeats the call after a time-out, else it does not.
     *
     * @param request what to change
     * @return the timer after the change
     */
    public UpdateTimerAnswer update(UpdateTimer request) {
        return CancellableFuture.await(() -> updateAsync(request));
    }

    /**
     * {@link #update(UpdateTimer)} without blocking.
     *
     * @param request what to change
     * @return the timer after the change
     */
    public CompletableFuture<UpdateTimerAnswer> updateAsync(UpdateTimer request) {
        return send("timers.update", () -> complete.update(request.fields()), UpdateTimerAnswer.class);
    }

    /**
     * Cancels a timer. After {@code CANCELLED} no attempt starts.
     *
     * @param timerId your id of the timer
     * @return what that did
     */
    public CancelResult cancel(String timerId) {
        return CancellableFuture.await(() -> cancelAsync(timerId));
    }

    /**
     * {@link #cancel(String)} without blocking.
     *
     * @param timerId your id of the timer
     * @return what that did
     */
    public CompletableFuture<CancelResult> cancelAsync(String timerId) {
        return cancelled(idOf(timerId));
    }

    /**
     * Cancels a timer if it still has this revision.
     *
     * @param timerId your id of the timer
     * @param ifRevision its revision
     * @return what that did
     */
    public CancelResult cancel(String timerId, long ifRevision) {
        return CancellableFuture.await(() -> cancelAsync(timerId, ifRevision));
    }

    /**
     * {@link #cancel(String, long)} without blocking.
     *
     * @param timerId your id of the timer
     * @param ifRevision its revision
     * @return what that did
     */
    public CompletableFuture<CancelResult> cancelAsync(String timerId, long ifRevision) {
        Map<String, Object> fields = new LinkedHashMap<>(idOf(timerId));
        fields.put("ifRevision", ifRevision);
        return cancelled(fields);
    }

    /**
     * Cancels a limited number of timers. Repeat it while the answer has {@code more}. The client never repeats it
     * after a time-out.
     *
     * @param request which timers
     * @return what that did
     */
    public CancelManyTimersAnswer cancelMany(CancelManyTimers request) {
        return CancellableFuture.await(() -> cancelManyAsync(request));
    }

    /**
     * {@link #cancelMany(CancelManyTimers)} without blocking.
     *
     * @param request which timers
     * @return what that did
     */
    public CompletableFuture<CancelManyTimersAnswer> cancelManyAsync(CancelManyTimers request) {
        return send(
                "timers.deleteMany",
                () -> complete.ofSelection(request.fields(), "filter", "all"),
                CancelManyTimersAnswer.class);
    }

    /**
     * How many timers match.
     *
     * @param request which timers
     * @return how many
     */
    public CountTimersAnswer count(CountTimers request) {
        return CancellableFuture.await(() -> countAsync(request));
    }

    /**
     * {@link #count(CountTimers)} without blocking.
     *
     * @param request which timers
     * @return how many
     */
    public CompletableFuture<CountTimersAnswer> countAsync(CountTimers request) {
        return send("timers.count", () -> complete.inScope(request.fields()), CountTimersAnswer.class);
    }

    /**
     * How many timers there are in each part of a span of time.
     *
     * @param filter which timers, with {@code from} and {@code until}
     * @param buckets into how many parts the span is divided, from 1 to 500
     * @return how many there are in each part
     */
    public TimerHistogramAnswer histogram(CountTimers filter, int buckets) {
        return CancellableFuture.await(() -> histogramAsync(filter, buckets));
    }

    /**
     * {@link #histogram(CountTimers, int)} without blocking.
     *
     * @param filter which timers, with {@code from} and {@code until}
     * @param buckets into how many parts the span is divided, from 1 to 500
     * @return how many there are in each part
     */
    public CompletableFuture<TimerHistogramAnswer> histogramAsync(CountTimers filter, int buckets) {
        return send(
                "timers.histogram",
                () -> Map.of("filter", complete.inScope(filter.fields()), "buckets", buckets),
                TimerHistogramAnswer.class);
    }

    /**
     * What happened over time: created, delivered, retried, dead and cancelled timers in each step.
     *
     * @param request which time
     * @return how much happened in each step
     */
    public ActivityAnswer activity(GetActivity request) {
        return CancellableFuture.await(() -> activityAsync(request));
    }

    /**
     * {@link #activity(GetActivity)} without blocking.
     *
     * @param request which time
     * @return how much happened in each step
     */
    public CompletableFuture<ActivityAnswer> activityAsync(GetActivity request) {
        return send("timers.activity", () -> inNamespaces(request.fields()), ActivityAnswer.class);
    }

    /**
     * Arms dead letters again. The client never repeats it after a time-out, except with {@code dryRun}.
     *
     * @param request which ones
     * @return what that did
     */
    public ReplayTimersAnswer replay(ReplayTimers request) {
        return CancellableFuture.await(() -> replayAsync(request));
    }

    /**
     * {@link #replay(ReplayTimers)} without blocking.
     *
     * @param request which ones
     * @return what that did
     */
    public CompletableFuture<ReplayTimersAnswer> replayAsync(ReplayTimers request) {
        return send(
                "timers.replay",
                () -> complete.ofSelection(request.fields(), "timerId", "filter", "all"),
                ReplayTimersAnswer.class);
    }

    /**
     * Removes dead letters. The client never repeats it after a time-out, except with {@code dryRun}.
     *
     * @param request which ones
     * @return what that did
     */
    public DiscardTimersAnswer discard(DiscardTimers request) {
        return CancellableFuture.await(() -> discardAsync(request));
    }

    /**
     * {@link #discard(DiscardTimers)} without blocking.
     *
     * @param request which ones
     * @return what that did
     */
    public CompletableFuture<DiscardTimersAnswer> discardAsync(DiscardTimers request) {
        return send(
                "timers.discard",
                () -> complete.ofSelection(request.fields(), "timerId", "filter", "all"),
                DiscardTimersAnswer.class);
    }

    /**
     * All pending timers of the namespace.
     *
     * @return the list
     */
    public Paged<Timer> list() {
        return list(new ListTimers());
    }

    /**
     * All timers that match.
     *
     * @param request which timers
     * @return the list
     */
    public Paged<Timer> list(ListTimers request) {
        return punctual.list("timers.list", complete.inScope(request.fields()), "timers", Timer.class);
    }

    /**
     * All lives of a timer id that the service still has, latest first.
     *
     * @param timerId your id of the timer
     * @return the list
     */
    public Paged<Timer> lives(String timerId) {
        return punctual.list("timers.lives", complete.ofTimer(idOf(timerId)), "lives", Timer.class);
    }

    private CompletableFuture<CancelResult> cancelled(Map<String, Object> request) {
        return punctual.send(
                "timers.delete",
                () -> complete.ofTimer(request),
                answer -> member(answer, "result", CancelResult.class));
    }

    private <T> CompletableFuture<T> send(String operation, Supplier<Map<String, ?>> fields, Class<T> type) {
        return punctual.send(operation, fields, answer -> answer.as(type));
    }

    private List<Map<String, Object>> completed(List<CreateTimer> requests) {
        if (requests.isEmpty()) throw Failures.refusedHere("timers", "must not be empty");
        return requests.stream()
                .map(request -> complete.create(request.fields()))
                .toList();
    }

    private Map<String, Object> inNamespaces(Map<String, Object> request) {
        Map<String, Object> fields = new LinkedHashMap<>(request);
        punctual.namespace().ifPresent(namespace -> fields.putIfAbsent("namespaces", List.of(namespace)));
        return fields;
    }

    /** A map of Java cannot hold null, and the check of the id must see it. */
    private static Map<String, Object> idOf(String timerId) {
        return Map.of("timerId", timerId == null ? "" : timerId);
    }

    private static List<CreateManyItem> itemsOf(Json answer) {
        return member(answer, "results", Json.class).items().stream()
                .map(item -> item.as(CreateManyItem.class))
                .toList();
    }

    private static <T> T member(Json answer, String name, Class<T> type) {
        return answer.get(name)
                .orElseThrow(() -> new IllegalArgumentException(name + " is missing"))
                .as(type);
    }
}
