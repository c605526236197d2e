package io.punctual.client;

/**
 * The codes of failed calls, for {@code switch}. A newer service may have more, so {@link PunctualException#code()} can
 * be any other text.
 */
public final class ErrorCode {
    /** The body is not JSON. */
    public static final String INVALID_JSON = "invalidJson";
    /** The request is wrong. {@link ProblemDocument#errors()} names the fields. */
    public static final String INVALID_REQUEST = "invalidRequest";
    /** The service may not call this URL. */
    public static final String EGRESS_REFUSED = "egressRefused";
    /** The key is missing or wrong. */
    public static final String UNAUTHORIZED = "unauthorized";
    /** The key does not have the right. */
    public static final String FORBIDDEN = "forbidden";
    /** There is no such call. */
    public static final String NOT_FOUND = "notFound";
    /** There is no such message. */
    public static final String MESSAGE_NOT_FOUND = "messageNotFound";
    /** There is no such timer. */
    public static final String TIMER_NOT_FOUND = "timerNotFound";
    /** There is no such key. */
    public static final String KEY_NOT_FOUND = "keyNotFound";
    /** There is no such job. */
    public static final String JOB_NOT_FOUND = "jobNotFound";
    /** The call needs another HTTP method. */
    public static final String METHOD_NOT_ALLOWED = "methodNotAllowed";
    /** The body did not arrive in time. */
    public static final String REQUEST_TIMEOUT = "requestTimeout";
    /** A timer with this id is pending. */
    public static final String TIMER_EXISTS = "timerExists";
    /** The timer has another revision. */
    public static final String REVISION_MISMATCH = "revisionMismatch";
    /** The timer is being delivered. */
    public static final String TIMER_IN_FLIGHT = "timerInFlight";
    /** The service has a real clock. */
    public static final String CLOCK_NOT_MANUAL = "clockNotManual";
    /** The store is a restored backup, and nobody has resumed the service yet. */
    public static final String RESTORED_FROM_BACKUP = "restoredFromBackup";
    /** The key cannot be changed like this. */
    public static final String KEY_REFUSED = "keyRefused";
    /** The broker refuses the message. */
    public static final String MESSAGE_REFUSED = "messageRefused";
    /** More timers match than the caller expects. */
    public static final String COUNT_CHANGED = "countChanged";
    /** The body is too large. */
    public static final String BODY_TOO_LARGE = "bodyTooLarge";
    /** The body is not {@code application/json}. */
    public static final String UNSUPPORTED_MEDIA_TYPE = "unsupportedMediaType";
    /** A quota is used up. */
    public static final String QUOTA_EXCEEDED = "quotaExceeded";
    /** The service has failed. */
    public static final String INTERNAL = "internal";
    /** The broker does not answer the service. */
    public static final String BROKER_UNAVAILABLE = "brokerUnavailable";
    /** The service has too much to do. */
    public static final String OVERLOADED = "overloaded";
    /** The node that owns the timer does not answer. */
    public static final String OWNER_UNAVAILABLE = "ownerUnavailable";

    /** No connection: the service got nothing. */
    public static final String CONNECTION_REFUSED = "connectionRefused";
    /** The connection broke before the answer was complete. */
    public static final String CONNECTION_LOST = "connectionLost";
    /** There was no complete answer in time. */
    public static final String TIMEOUT = "timeout";
    /** The thread of the caller was interrupted. */
    public static final String ABORTED = "aborted";
    /** Something answered, but not in the words of this service: a proxy, or another program. */
    public static final String UNREADABLE_ANSWER = "unreadableAnswer";

    private ErrorCode() {}
}
