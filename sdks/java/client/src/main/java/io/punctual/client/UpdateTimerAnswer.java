package io.punctual.client;

import java.util.List;

/**
 * The timer after the change.
 *
 * @param timer the timer
 * @param warnings sentences for people
 * @param json the whole answer, also with fields of a newer service
 */
public record UpdateTimerAnswer(Timer timer, List<String> warnings, Json json) {
    /** Without the payload, which must not get into logs. */
    @Override
    public String toString() {
        return "UpdateTimerAnswer[" + timer + ", warnings=" + warnings + "]";
    }
}
