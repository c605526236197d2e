package io.punctual.client;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * One call with all its tries: it repeats what is harmless to repeat, and waits in between. No thread waits with it.
 */
final class Sending<T> {
    private final Connection connection;
    private final Outgoing outgoing;
    private final CallSettings settings;
    private final Function<AnswerText, T> reader;
    private final CancellableFuture<T> result = new CancellableFuture<>(this::end, this::writtenNow);
    /** Whether a try before this one may have written something. */
    private volatile boolean isUnknown;

    private volatile boolean isSent;
    /** The try or the wait that runs now. */
    private volatile CompletableFuture<?> step;

    Sending(Connection connection, Outgoing outgoing, CallSettings settings, Function<AnswerText, T> reader) {
        this.connection = connection;
        this.outgoing = outgoing;
        this.settings = settings;
        this.reader = reader;
    }

    CompletableFuture<T> start() {
        makeTry(1);
        return result;
    }

    private void end() {
        CompletableFuture<?> current = step;
        if (current != null) current.cancel(true);
    }

    private Written writtenNow() {
        boolean mayHaveWritten = outgoing.repeats() != Repeats.Kind.READ && (isUnknown || isSent);
        return mayHaveWritten ? Written.UNKNOWN : Written.NO;
    }

    private void makeTry(int attempt) {
        if (result.isDone()) return;
        CompletableFuture<AnswerText> current;
        try {
            current = connection.tryOnce(outgoing, attempt, settings);
        } catch (RuntimeException failure) {
            // Such as the caller's own function that reads the key.
            result.completeExceptionally(failure);
            return;
        }
        isSent = true;
        goOnAfter(current);
        current.whenComplete((answer, thrown) -> {
            isSent = false;
            if (answer != null) succeed(answer);
            else if (Failures.unwrapped(thrown) instanceof PunctualException exception) failed(exception, attempt);
            else result.completeExceptionally(Failures.unwrapped(thrown));
        });
    }

    /** A cancel that came before the step was known ends it here. */
    private void goOnAfter(CompletableFuture<?> next) {
        step = next;
        if (result.isCancelled()) next.cancel(true);
    }

    private void succeed(AnswerText answer) {
        try {
            result.complete(reader.apply(answer));
        } catch (IllegalArgumentException unreadable) {
            Written written = outgoing.repeats() == Repeats.Kind.READ ? Written.NO : Written.UNKNOWN;
            result.completeExceptionally(Failures.notReadable(outgoing.operation(), answer, written, unreadable));
        }
    }

    private void failed(PunctualException exception, int attempt) {
        if (exception.written() == Written.UNKNOWN && outgoing.repeats() != Repeats.Kind.READ) isUnknown = true;
        Surroundings surroundings = connection.surroundings();
        Optional<Duration> wait = Repeats.waitBefore(attempt, exception.retryAfter(), surroundings.random());
        boolean isLast = attempt > settings.maxRetries() || !Failures.mayRepeat(exception, outgoing.repeats());
        if (isLast || wait.isEmpty() || isPast(surroundings.nowMs() + wait.get().toMillis())) {
            result.completeExceptionally(Failures.withWritten(exception, isUnknown ? Written.UNKNOWN : Written.NO));
            return;
        }
        String message = "punctual: " + outgoing.operation() + " is tried again in "
                + wait.get().toMillis() + " ms (" + exception.code() + ")";
        connection.logger().log(System.Logger.Level.DEBUG, message);
        CompletableFuture<Void> slept = surroundings.sleep(wait.get());
        goOnAfter(slept);
        // Not on the thread of the timer. It is the only one of the JVM, and a try calls hooks and reads the key.
        slept.thenRunAsync(() -> makeTry(attempt + 1));
    }

    private boolean isPast(long atMs) {
        return settings.deadline() != null && !Instant.ofEpochMilli(atMs).isBefore(settings.deadline());
    }
}
