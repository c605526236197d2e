/**
 * The codes of problems that the service answers, and the codes of failures that only a client can see. A newer service
 * may have more codes, so a code can also be any other text.
 */

/** The codes of problem documents (RFC 9457). */
export type ProblemCode =
  | "invalidJson"
  | "invalidRequest"
  | "egressRefused"
  | "unauthorized"
  | "forbidden"
  | "notFound"
  | "messageNotFound"
  | "timerNotFound"
  | "keyNotFound"
  | "jobNotFound"
  | "methodNotAllowed"
  | "requestTimeout"
  | "timerExists"
  | "revisionMismatch"
  | "timerInFlight"
  | "clockNotManual"
  | "restoredFromBackup"
  | "keyRefused"
  | "messageRefused"
  | "countChanged"
  | "bodyTooLarge"
  | "unsupportedMediaType"
  | "quotaExceeded"
  | "internal"
  | "brokerUnavailable"
  | "overloaded"
  | "ownerUnavailable"

/** The codes of failures without a problem document. */
export type ClientCode =
  /** No connection: the service got nothing. */
  | "connectionRefused"
  /** The connection broke before the answer was complete. */
  | "connectionLost"
  /** There was no complete answer in time. */
  | "timeout"
  /** The caller's signal ended the call. */
  | "aborted"
  /** Something answered, but not in the words of this service: a proxy, or another program. */
  | "unreadableAnswer"

/** Codes of newer services are texts that this version does not know. */
export type ErrorCode = ProblemCode | ClientCode | (string & {})

/** Whether a failed call may have changed anything. */
export type Written = "no" | "unknown"

/** What is wrong with one field of a request. */
export interface FieldError {
  /** JSON pointer (RFC 6901) to the field; empty for the whole body. */
  readonly pointer: string
  /** What is wrong with the field, and how to fix it. */
  readonly detail: string
}

/** A failure as the service answers it: `application/problem+json`. */
export interface ProblemDocument {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly code: ErrorCode
  readonly detail: string
  /** The wrong fields of an invalid request. */
  readonly errors?: ReadonlyArray<FieldError>
  /** With `revisionMismatch`: the revision of the timer now. */
  readonly currentRevision?: number
  /** With `countChanged`: how many timers match now. */
  readonly currentCount?: number
  /** With `quotaExceeded`: which quota. */
  readonly quota?: string
  /** With 429 and 503: when to try again. */
  readonly retryAfterSeconds?: number
  /** With 429 and 503: whether the service may have written anything. */
  readonly written?: Written
}
