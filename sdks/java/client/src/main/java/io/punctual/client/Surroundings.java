package io.punctual.client;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** Time and randomness of a client. The tests of this library replace them. */
interface Surroundings {
    /** Those of the machine. */
    Surroundings SYSTEM = new Surroundings() {
        @Override
        public long nowMs() {
            return System.currentTimeMillis();
        }

        @Override
        public double random() {
            return ThreadLocalRandom.current().nextDouble();
        }

        @Override
        public CompletableFuture<Void> sleep(Duration wait) {
            return new CompletableFuture<Void>().completeOnTimeout(null, wait.toMillis(), TimeUnit.MILLISECONDS);
        }
    };

    long nowMs();

    /** From 0 to 1. */
    double random();

    /** Complete after this time. */
    CompletableFuture<Void> sleep(Duration wait);
}
