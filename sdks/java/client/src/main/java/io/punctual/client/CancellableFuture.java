package io.punctual.client;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;

/**
 * A future whose cancel also ends the work behind it. Stages that a program makes from it do the same, so that
 * {@code timers.getAsync(id).thenApply(…).cancel(true)} ends the request.
 */
final class CancellableFuture<T> extends CompletableFuture<T> {
    private final Runnable end;
    private final Supplier<Written> written;

    /** {@code written} says what an end would leave behind, at this moment. */
    CancellableFuture(Runnable end, Supplier<Written> written) {
        this.end = end;
        this.written = written;
    }

    @Override
    public <U> CompletableFuture<U> newIncompleteFuture() {
        return new CancellableFuture<>(end, written);
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        boolean isCancelled = super.cancel(mayInterruptIfRunning);
        if (isCancelled) end.run();
        return isCancelled;
    }

    /** A call that fails before it is sent is a future that fails, so that a caller looks in one place only. */
    static <T> CompletableFuture<T> begin(Supplier<CompletableFuture<T>> call) {
        try {
            return call.get();
        } catch (RuntimeException failure) {
            return CompletableFuture.failedFuture(failure);
        }
    }

    /**
     * The value of a call, as soon as it is there. An interrupt of this thread ends the call, or keeps it from
     * beginning.
     */
    static <T> T await(Supplier<CompletableFuture<T>> call) {
        if (Thread.currentThread().isInterrupted()) throw Failures.wasAborted(Written.NO, null);
        CompletableFuture<T> future = call.get();
        try {
            return future.get();
        } catch (InterruptedException interrupted) {
            Written written = future instanceof CancellableFuture<T> own ? own.written.get() : Written.UNKNOWN;
            future.cancel(true);
            Thread.currentThread().interrupt();
            throw Failures.wasAborted(written, interrupted);
        } catch (ExecutionException failed) {
            Throwable cause = Failures.unwrapped(failed);
            if (cause instanceof PunctualException exception) throw Failures.thrownHere(exception);
            if (cause instanceof RuntimeException exception) throw exception;
            if (cause instanceof Error error) throw error;
            throw new IllegalStateException(cause);
        }
    }
}
