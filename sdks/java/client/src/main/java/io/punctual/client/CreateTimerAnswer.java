package io.punctual.client;

import java.util.List;

/**
 * The timer, and what the create did.
 *
 * @param result what the create did
 * @param timer the timer
 * @param warnings sentences for people
 * @param json the whole answer, also with fields of a newer service
 */
public record CreateTimerAnswer(CreateResult result, Timer timer, List<String> warnings, Json json) {
    /** Without the payload, which must not get into logs. */
    @Override
    public String toString() {
        return "CreateTimerAnswer[" + result + ", " + timer + ", warnings=" + warnings + "]";
    }
}
