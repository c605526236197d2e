package io.punctual.client;

/** The timers of one namespace that a call changes. */
public final class TimerFilter extends FilterRequest<TimerFilter> {
    /** A request without fields. */
    public TimerFilter() {
        super(TimerFilter.class);
    }
}
