package io.punctual.client;

/** Which timers to count. */
public final class CountTimers extends CountRequest<CountTimers> {
    /** A request without fields. */
    public CountTimers() {
        super(CountTimers.class);
    }
}
