package io.punctual.client.admin;

/** What a key may do. */
public enum KeyAction {
    /** Read timers. */
    TIMERS_READ("timers.read"),
    /** Create and change timers. */
    TIMERS_WRITE("timers.write"),
    /** Cancel timers. */
    TIMERS_CANCEL("timers.cancel"),
    /** See payloads. */
    PAYLOAD_READ("payload.read"),
    /** Arm dead letters again. */
    DEAD_REPLAY("dead.replay"),
    /** Remove dead letters. */
    DEAD_DISCARD("dead.discard"),
    /** See settings of namespaces. */
    NAMESPACES_READ("namespaces.read"),
    /** Change settings of namespaces. */
    NAMESPACES_WRITE("namespaces.write"),
    /** See the service. */
    SERVICE_READ("service.read"),
    /** Pause and resume the service. */
    SERVICE_WRITE("service.write"),
    /** Move a manual clock. */
    CLOCK_ADVANCE("clock.advance"),
    /** See messages that could not be handled. */
    BUS_READ("bus.read"),
    /** Handle or remove such messages. */
    BUS_WRITE("bus.write"),
    /** See metrics. */
    METRICS_READ("metrics.read"),
    /** See the audit trail. */
    AUDIT_READ("audit.read"),
    /** Make and end keys. */
    KEYS_MANAGE("keys.manage"),
    /** See calls of the Service Agent. */
    CALLS_READ("calls.read"),
    /** Make calls of the Service Agent. */
    CALLS_WRITE("calls.write"),
    /** Everything. */
    ALL("*"),
    /** A value of a newer service. {@code json()} has its text. */
    UNKNOWN("unknown");

    private final String text;

    KeyAction(String text) {
        this.text = text;
    }

    /** As in the contract. */
    @Override
    public String toString() {
        return text;
    }
}
