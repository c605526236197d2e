package io.punctual.client;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * A failure as the service answers it: {@code application/problem+json}.
 *
 * @param type the URI of the kind of problem
 * @param title the kind of problem, for people
 * @param status the HTTP status
 * @param code see {@link ErrorCode}; codes of newer services are kept
 * @param detail what is wrong, for people
 * @param errors the wrong fields of an invalid request
 * @param currentRevision with {@code revisionMismatch}: the revision of the timer now
 * @param currentCount with {@code countChanged}: how many timers match now
 * @param quota with {@code quotaExceeded}: which quota
 * @param retryAfterSeconds with 429 and 503: when to try again
 * @param written with 429 and 503: whether the service may have written anything
 * @param json the whole document
 */
public record ProblemDocument(
        String type,
        String title,
        int status,
        String code,
        String detail,
        List<FieldError> errors,
        OptionalLong currentRevision,
        OptionalLong currentCount,
        Optional<String> quota,
        OptionalInt retryAfterSeconds,
        Optional<Written> written,
        Json json) {

    ProblemDocument withJson(Json whole) {
        return new ProblemDocument(
                type,
                title,
                status,
                code,
                detail,
                errors,
                currentRevision,
                currentCount,
                quota,
                retryAfterSeconds,
                written,
                whole);
    }
}
