package io.punctual.client;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Which calls the client repeats by itself. A repeat must be harmless even if the first request was carried out, so the
 * answer depends on the call and on its fields. sdks/conformance/retries.json has the same table for all languages, and
 * a test compares the two.
 */
final class Repeats {
    static final long FIRST_WAIT_MS = 250;
    static final int MULTIPLIER = 2;
    /** The waits do not grow beyond this. */
    static final long MOST_GROWN_MS = 8_000;
    /** The part of each wait that is random. */
    static final double JITTER = 0.5;
    /** If the service asks for a longer wait, the call fails instead, and {@code retryAfter} says how long. */
    static final long LONGEST_WAIT_MS = 60_000;

    private Repeats() {}

    /** What a repeat does. */
    enum Kind {
        /** The call changes nothing. */
        READ("read"),
        /** A repeat has the same effect as one request. */
        SAME("same"),
        /** A repeat could do more than one request, so it is made only if nothing of the first one was carried out. */
        NEVER("never");

        private final String text;

        Kind(String text) {
            this.text = text;
        }

        @Override
        public String toString() {
            return text;
        }
    }

    /** The rule of an operation. */
    sealed interface Rule permits Always, With, WithValues, Each {}

    /** The same for every request. */
    record Always(Kind kind) implements Rule {}

    /** This kind if the request has all these fields, and not these values; else {@code NEVER}. */
    record With(Kind kind, List<String> fields, Map<String, Object> without) implements Rule {}

    /** This kind if the request has these values; else {@code NEVER}. */
    record WithValues(Kind kind, Map<String, Object> values) implements Rule {}

    /** {@code SAME} if each item of this field would be, as a request of that operation. */
    record Each(String field, String like) implements Rule {}

    private static final Rule READ = new Always(Kind.READ);
    private static final Rule SAME = new Always(Kind.SAME);
    private static final Rule NEVER = new Always(Kind.NEVER);
    private static final Rule DRY_RUN = new WithValues(Kind.READ, Map.of("dryRun", true));

    /** By the id of the operation in the OpenAPI document. */
    static final Map<String, Rule> RULES = Map.ofEntries(
            Map.entry(
                    "timers.create",
                    new With(Kind.SAME, List.of("timerId", "executeAt"), Map.of("onExisting", "fail"))),
            Map.entry("timers.createMany", new Each("timers", "timers.create")),
            Map.entry("timers.get", READ),
            Map.entry("timers.update", new With(Kind.SAME, List.of("ifRevision"), Map.of())),
            Map.entry("timers.delete", SAME),
            Map.entry("timers.deleteMany", NEVER),
            Map.entry("timers.list", READ),
            Map.entry("timers.count", READ),
            Map.entry("timers.histogram", READ),
            Map.entry("timers.lives", READ),
            Map.entry("timers.activity", READ),
            Map.entry("timers.replay", DRY_RUN),
            Map.entry("timers.discard", DRY_RUN),
            Map.entry("bulk.start", NEVER),
            Map.entry("bulk.get", READ),
            Map.entry("bulk.list", READ),
            Map.entry("bulk.abort", SAME),
            Map.entry("cluster.cluster", READ),
            Map.entry("clock.advance", new With(Kind.SAME, List.of("to"), Map.of())),
            Map.entry("namespaces.put", SAME),
            Map.entry("namespaces.get", READ),
            Map.entry("namespaces.list", READ),
            Map.entry("service.get", READ),
            Map.entry("service.pause", SAME),
            Map.entry("service.resume", SAME),
            Map.entry("breakers.list", READ),
            Map.entry("breakers.reset", SAME),
            Map.entry("egress.check", READ),
            Map.entry("messages.list", READ),
            Map.entry("messages.get", READ),
            Map.entry("messages.replay", NEVER),
            Map.entry("messages.discard", NEVER),
            Map.entry("keys.create", NEVER),
            Map.entry("keys.rotate", NEVER),
            Map.entry("keys.revoke", SAME),
            Map.entry("keys.revokeLeaked", SAME),
            Map.entry("keys.confirm", SAME),
            Map.entry("keys.get", READ),
            Map.entry("keys.list", READ),
            Map.entry("keys.self", READ),
            Map.entry("sessions.create", NEVER),
            Map.entry("sessions.end", SAME),
            Map.entry("audit.list", READ),
            Map.entry("events.stream", READ));

    /** Calls that this version does not know are never repeated after an unknown outcome. */
    static Kind kindOf(String operation, Map<?, ?> fields) {
        Rule rule = RULES.getOrDefault(operation, NEVER);
        if (rule instanceof Always always) return always.kind();
        if (rule instanceof WithValues values) return has(fields, values.values()) ? values.kind() : Kind.NEVER;
        if (rule instanceof With with) {
            boolean hasAll = with.fields().stream().allMatch(name -> fields.get(name) != null);
            boolean isExcluded = !with.without().isEmpty() && has(fields, with.without());
            return hasAll && !isExcluded ? with.kind() : Kind.NEVER;
        }
        Each each = (Each) rule;
        boolean areSame = fields.get(each.field()) instanceof List<?> items
                && items.stream()
                        .allMatch(item -> item instanceof Map<?, ?> inner && kindOf(each.like(), inner) == Kind.SAME);
        return areSame ? Kind.SAME : Kind.NEVER;
    }

    /** Values are compared as they are sent: an enum by its text. */
    private static boolean has(Map<?, ?> fields, Map<String, Object> wanted) {
        return wanted.entrySet().stream()
                .allMatch(entry -> String.valueOf(fields.get(entry.getKey())).equals(String.valueOf(entry.getValue())));
    }

    /** The wait before the next try; empty if it would be too long. {@code random} is from 0 to 1. */
    static Optional<Duration> waitBefore(int retry, Optional<Duration> retryAfter, double random) {
        double grownMs = Math.min(FIRST_WAIT_MS * Math.pow(MULTIPLIER, retry - 1), MOST_GROWN_MS);
        double ownMs = grownMs * (1 - JITTER * random);
        long waitMs =
                Math.round(Math.max(ownMs, retryAfter.map(Duration::toMillis).orElse(0L)));
        return waitMs <= LONGEST_WAIT_MS ? Optional.of(Duration.ofMillis(waitMs)) : Optional.empty();
    }
}
