package io.punctual.client;

import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.UnknownHostException;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpTimeoutException;
import java.nio.channels.UnresolvedAddressException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLPeerUnverifiedException;

/** What a failed try means: which exception it is, and whether the service may have carried out the request. */
final class Failures {
    private Failures() {}

    /** The exception of the family that belongs to the status. */
    static PunctualException exceptionOf(Failure failure) {
        Integer status = failure.status();
        if (failure.code().equals(ErrorCode.INVALID_REQUEST) && status == null)
            return new InvalidRequestException(failure);
        if (status == null || failure.code().equals(ErrorCode.UNREADABLE_ANSWER))
            return new ConnectionException(failure);
        return switch (status) {
            case 401, 403 -> new AccessException(failure);
            case 404 -> new NotFoundException(failure);
            case 409 -> new ConflictException(failure);
            case 429 -> new QuotaException(failure);
            default -> status >= 500 ? new UnavailableException(failure) : new InvalidRequestException(failure);
        };
    }

    /** The exception of a request that the client refuses to send. */
    static PunctualException refusedHere(String field, String detail) {
        String message = field + " " + detail;
        return exceptionOf(Failure.withoutAnswer(ErrorCode.INVALID_REQUEST, message, Written.NO, false, null));
    }

    /** The exception of a try without an answer. */
    static PunctualException noAnswer(Throwable thrown, String place, Duration timeout) {
        Throwable cause = unwrapped(thrown);
        if (cause instanceof PunctualException known) return known;
        if (isRefused(cause)) {
            String message = "there is no connection to " + place + " (" + whyOf(cause) + ")";
            return exceptionOf(Failure.withoutAnswer(ErrorCode.CONNECTION_REFUSED, message, Written.NO, true, cause));
        }
        if (cause instanceof HttpTimeoutException || cause instanceof java.util.concurrent.TimeoutException) {
            return tookTooLong(timeout, place, Written.UNKNOWN);
        }
        String message = "the connection to " + place + " was lost (" + whyOf(cause) + ")";
        return exceptionOf(Failure.withoutAnswer(ErrorCode.CONNECTION_LOST, message, Written.UNKNOWN, true, cause));
    }

    private static boolean isRefused(Throwable cause) {
        return cause instanceof ConnectException
                || cause instanceof NoRouteToHostException
                || cause instanceof UnknownHostException
                || cause instanceof UnresolvedAddressException
                || cause instanceof HttpConnectTimeoutException
                // Without a handshake no request is sent. A wrong certificate is the usual reason.
                || cause instanceof SSLHandshakeException
                || cause instanceof SSLPeerUnverifiedException;
    }

    private static String whyOf(Throwable cause) {
        return cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
    }

    /** The exception of a try that took too long. */
    static PunctualException tookTooLong(Duration timeout, String place, Written written) {
        String message = place + " did not answer within " + timeout.toMillis() + " ms";
        return exceptionOf(Failure.withoutAnswer(ErrorCode.TIMEOUT, message, written, true, null));
    }

    /** The exception of a call whose thread was interrupted. */
    static PunctualException wasAborted(Written written, Throwable cause) {
        String message = "the thread of the caller was interrupted";
        return exceptionOf(Failure.withoutAnswer(ErrorCode.ABORTED, message, written, false, cause));
    }

    /** The exception of a success that cannot be read. */
    static PunctualException notReadable(String operation, AnswerText answer, Written written, Throwable cause) {
        String message = "the answer of " + operation + " is not readable (" + cause.getMessage()
                + "): check that the URL is that of a Punctual service";
        return exceptionOf(new Failure(
                ErrorCode.UNREADABLE_ANSWER,
                message,
                answer.status(),
                answer.requestId().orElse(null),
                null,
                written,
                false,
                null,
                cause));
    }

    /** The exception of an answer that is no success. */
    static PunctualException badAnswer(AnswerText answer, String place) {
        int status = answer.status();
        Optional<ProblemDocument> problem = problemIn(answer.text(), status);
        String requestId = answer.requestId().orElse(null);
        if (problem.isEmpty()) {
            String message = place + " answered " + status + ", and not in the words of Punctual: check the URL";
            Written written = status >= 400 && status < 500 ? Written.NO : Written.UNKNOWN;
            boolean isGateway = status == 502 || status == 503 || status == 504;
            return exceptionOf(new Failure(
                    ErrorCode.UNREADABLE_ANSWER, message, status, requestId, null, written, isGateway, null, null));
        }
        ProblemDocument found = problem.get();
        Written written = found.written().orElse(status == 500 ? Written.UNKNOWN : Written.NO);
        boolean isRetryable = status == 408 || status == 429 || status == 503;
        Duration retryAfter = retryAfterOf(found, answer);
        return exceptionOf(new Failure(
                found.code(), messageOf(found), status, requestId, found, written, isRetryable, retryAfter, null));
    }

    private static String messageOf(ProblemDocument problem) {
        String fields = problem.errors().stream()
                .map(error -> (error.pointer().replaceFirst("^/", "").replace('/', '.') + " " + error.detail()).strip())
                .collect(Collectors.joining("; "));
        return problem.code() + ": " + (fields.isEmpty() ? problem.detail() : fields);
    }

    private static Optional<ProblemDocument> problemIn(String text, int status) {
        try {
            Json json = Json.parse(text);
            if (json.get("code").isEmpty()) return Optional.empty();
            // Only the code must be there: whatever else is missing, the service has refused the call.
            Map<String, Object> fields = new HashMap<>(Map.of("type", "", "title", "", "status", status, "detail", ""));
            fields.putAll(json.members());
            ProblemDocument document = Json.of(fields).as(ProblemDocument.class);
            return Optional.of(document.withJson(json));
        } catch (IllegalArgumentException noProblem) {
            return Optional.empty();
        }
    }

    /** The service writes both. */
    private static Duration retryAfterOf(ProblemDocument problem, AnswerText answer) {
        if (problem.retryAfterSeconds().isPresent())
            return Duration.ofSeconds(problem.retryAfterSeconds().getAsInt());
        return answer.header("retry-after")
                .filter(seconds -> seconds.matches("[0-9]{1,9}"))
                .map(seconds -> Duration.ofSeconds(Long.parseLong(seconds)))
                .orElse(null);
    }

    /** Whether another try is harmless and may help. */
    static boolean mayRepeat(PunctualException exception, Repeats.Kind kind) {
        return exception.isRetryable() && (exception.written() == Written.NO || kind != Repeats.Kind.NEVER);
    }

    /**
     * The exception for the caller, after all tries: a read writes nothing, and an earlier try may have written
     * something.
     */
    static PunctualException withWritten(PunctualException exception, Written written) {
        return exception.written() == written
                ? exception
                : exceptionOf(exception.failure().withWritten(written));
    }

    /** The same failure, with the stack of the calling thread. */
    static PunctualException thrownHere(PunctualException exception) {
        return exceptionOf(exception.failure().withCause(exception));
    }

    /** What a stage of a future failed with, without the wrappers. */
    static Throwable unwrapped(Throwable thrown) {
        boolean isWrapper = thrown instanceof CompletionException || thrown instanceof ExecutionException;
        return isWrapper && thrown.getCause() != null ? unwrapped(thrown.getCause()) : thrown;
    }
}
