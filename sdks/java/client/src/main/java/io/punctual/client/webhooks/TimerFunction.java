package io.punctual.client.webhooks;

/** Your function for timers. */
@FunctionalInterface
public interface TimerFunction {
    /**
     * Does the work of a timer.
     *
     * @param event the timer that fires
     * @return what became of it
     * @throws Exception if the attempt failed. Punctual tries again by the retry policy, and the failure counts for the
     *     breaker of the host
     */
    Outcome handle(TimerEvent event) throws Exception;
}
