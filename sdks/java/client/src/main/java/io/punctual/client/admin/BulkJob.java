package io.punctual.client.admin;

import io.punctual.client.FailureKind;
import io.punctual.client.FinishReason;
import io.punctual.client.Json;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A job on many timers.
 *
 * @param jobId its id
 * @param filter the timers, as they were given
 * @param reason why somebody started it
 * @param perSecond how many timers in a second
 * @param expect how many timers the starter expected
 * @param capped whether the service stopped counting the timers
 * @param state what it does now, or how it ended
 * @param startedBy who started it
 * @param startedAt when it began
 * @param finishedAt when it ended
 * @param done what it has done so far
 * @param examined how many timers it looked at
 * @param problem why it failed; or, while it runs, why it waits
 * @param json the whole object, also with fields of a newer service
 */
public record BulkJob(
        String jobId,
        Filter filter,
        String reason,
        int perSecond,
        long expect,
        boolean capped,
        State state,
        Starter startedBy,
        Instant startedAt,
        Optional<Instant> finishedAt,
        Done done,
        long examined,
        Optional<String> problem,
        Json json) {
    /**
     * What the job does with each timer: the field {@code do}, which is no name in Java.
     *
     * @return what it does
     */
    public Deed deed() {
        return json.get("do").map(text -> text.as(Deed.class)).orElse(Deed.UNKNOWN);
    }

    /** What a job does with each timer. */
    public enum Deed {
        /** Arms dead letters again. */
        REPLAY("replay"),
        /** Removes dead letters. */
        DISCARD("discard"),
        /** Cancels pending timers. */
        CANCEL("cancel"),
        /** A value of a newer service. {@code json()} has its text. */
        UNKNOWN("unknown");

        private final String text;

        Deed(String text) {
            this.text = text;
        }

        /** As in the contract. */
        @Override
        public String toString() {
            return text;
        }
    }

    /** What a job does now, or how it ended. */
    public enum State {
        /** It runs. */
        RUNNING("running"),
        /** It has done everything. */
        DONE("done"),
        /** Somebody stopped it. */
        ABORTED("aborted"),
        /** It could not go on. */
        FAILED("failed"),
        /** A value of a newer service. {@code json()} has its text. */
        UNKNOWN("unknown");

        private final String text;

        State(String text) {
            this.text = text;
        }

        /** As in the contract. */
        @Override
        public String toString() {
            return text;
        }
    }

    /**
     * The timers of a job, as they were given.
     *
     * @param namespace one namespace
     * @param namespaces several namespaces
     * @param from inclusive
     * @param until exclusive
     * @param idPrefix ids that begin like this
     * @param correlationId the correlation id
     * @param tag the tag
     * @param host the host of the webhook
     * @param reason why the timer is dead
     * @param error how the last attempt failed
     * @param minLateness the smallest lateness
     */
    public record Filter(
            Optional<String> namespace,
            List<String> namespaces,
            Optional<Instant> from,
            Optional<Instant> until,
            Optional<String> idPrefix,
            Optional<String> correlationId,
            Optional<String> tag,
            Optional<String> host,
            Optional<FinishReason> reason,
            Optional<FailureKind> error,
            Optional<Duration> minLateness) {}

    /**
     * What a job has done so far.
     *
     * @param replayed dead letters that it armed again
     * @param discarded dead letters that it removed
     * @param cancelled timers that it cancelled
     * @param inFlight timers that were in flight
     * @param skipped timers that it left
     */
    public record Done(
            OptionalLong replayed,
            OptionalLong discarded,
            OptionalLong cancelled,
            OptionalLong inFlight,
            OptionalLong skipped) {}

    /**
     * Who started a job.
     *
     * @param caller the name of the caller
     * @param keyId the id of its key
     */
    public record Starter(String caller, Optional<String> keyId) {}
}
