package io.punctual.client.admin;

import io.punctual.client.Paged;
import io.punctual.client.Punctual;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Jobs that replay, discard or cancel many timers, also of several namespaces. */
public final class Bulk {
    private final Punctual punctual;

    Bulk(Punctual punctual) {
        this.punctual = punctual;
    }

    /**
     * Starts a job. The client never repeats it after a time-out: look with {@link #list()} first.
     *
     * @param request the job
     * @return the job
     */
    public BulkJob start(StartBulk request) {
        return punctual.exchange("bulk.start", inScope(request.fields()), Answers.BulkAnswer.class)
                .job();
    }

    /**
     * {@link #start(StartBulk)} without blocking.
     *
     * @param request the job
     * @return the job
     */
    public CompletableFuture<BulkJob> startAsync(StartBulk request) {
        return punctual.exchangeAsync("bulk.start", inScope(request.fields()), Answers.BulkAnswer.class)
                .thenApply(Answers.BulkAnswer::job);
    }

    /**
     * The progress of a job.
     *
     * @param jobId its id
     * @return the job
     */
    public BulkJob get(String jobId) {
        return punctual.exchange("bulk.get", Map.of("jobId", jobId), Answers.BulkAnswer.class)
                .job();
    }

    /**
     * {@link #get(String)} without blocking.
     *
     * @param jobId its id
     * @return the job
     */
    public CompletableFuture<BulkJob> getAsync(String jobId) {
        return punctual.exchangeAsync("bulk.get", Map.of("jobId", jobId), Answers.BulkAnswer.class)
                .thenApply(Answers.BulkAnswer::job);
    }

    /**
     * Stops a job. What it has done stays done.
     *
     * @param jobId its id
     * @return the job
     */
    public BulkJob abort(String jobId) {
        return punctual.exchange("bulk.abort", Map.of("jobId", jobId), Answers.BulkAnswer.class)
                .job();
    }

    /**
     * {@link #abort(String)} without blocking.
     *
     * @param jobId its id
     * @return the job
     */
    public CompletableFuture<BulkJob> abortAsync(String jobId) {
        return punctual.exchangeAsync("bulk.abort", Map.of("jobId", jobId), Answers.BulkAnswer.class)
                .thenApply(Answers.BulkAnswer::job);
    }

    /**
     * All jobs, newest first.
     *
     * @return the list
     */
    public Paged<BulkJob> list() {
        return punctual.list("bulk.list", Map.of(), "jobs", BulkJob.class);
    }

    /** The filter with the namespace of the client, unless it names one or several. */
    private Map<String, Object> inScope(Map<String, Object> request) {
        if (!(request.get("filter") instanceof BulkFilterInput filter)) return request;
        Map<String, Object> scoped = new LinkedHashMap<>(filter.fields());
        if (!scoped.containsKey("namespaces")) {
            punctual.namespace().ifPresent(namespace -> scoped.putIfAbsent("namespace", namespace));
        }
        Map<String, Object> fields = new LinkedHashMap<>(request);
        fields.put("filter", scoped);
        return fields;
    }
}
