package io.punctual.client.admin;

import io.punctual.client.Json;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * The service: its time, its pause, its program.
 *
 * @param now its time
 * @param pause since when firing is paused, and why
 * @param build the program that answers
 * @param settings the settings in force, if asked for
 * @param json the whole answer, also with fields of a newer service
 */
public record ServiceAnswer(
        Instant now, Optional<Pause> pause, Optional<Build> build, List<Setting> settings, Json json) {
    /**
     * Since when firing is paused, and why.
     *
     * @param since since when
     * @param kind the kind of pause
     * @param reason why
     */
    public record Pause(Instant since, PauseKind kind, Optional<String> reason) {}

    /** The kind of a pause. */
    public enum PauseKind {
        /** Somebody asked for it. */
        ASKED("asked"),
        /** The store is a restored backup. */
        RESTORED("restored"),
        /** A value of a newer service. {@code json()} has its text. */
        UNKNOWN("unknown");

        private final String text;

        PauseKind(String text) {
            this.text = text;
        }

        /** As in the contract. */
        @Override
        public String toString() {
            return text;
        }
    }

    /**
     * The program that answers.
     *
     * @param version its version
     * @param commit the commit it was built from
     * @param builtAt when it was built
     */
    public record Build(String version, Optional<String> commit, Optional<Instant> builtAt) {}

    /**
     * A setting in force.
     *
     * @param name its name
     * @param value its value
     * @param isSet whether somebody set it
     */
    public record Setting(String name, String value, boolean isSet) {}
}
