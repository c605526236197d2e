/**
 * What a failed call throws. There is one type, with one class for each family, so that `catch` can be as coarse or as
 * fine as the caller needs: `error instanceof ConflictError`, or `error.code === "timerExists"`.
 */
import type { ErrorCode, ProblemDocument, Written } from "./contract/problems.ts"

/** What is known about a failure. */
export interface Failure {
  readonly code: ErrorCode
  readonly message: string
  readonly status?: number | undefined
  readonly requestId?: string | undefined
  readonly problem?: ProblemDocument | undefined
  readonly written: Written
  readonly retryable: boolean
  readonly retryAfterMs?: number | undefined
  readonly cause?: unknown
}

/** A failed call. */
export class PunctualError extends Error {
  /** The code of the problem, or of what went wrong on the way. Codes of newer services are kept. */
  readonly code: ErrorCode
  /** The HTTP status, if something answered. */
  readonly status: number | undefined
  /** The id of the request in the logs of the service, if it answered. */
  readonly requestId: string | undefined
  /** The problem document, if the service answered one. */
  readonly problem: ProblemDocument | undefined
  /** `no`: the call changed nothing and will not. `unknown`: it may have done all of its work, or a part of it. */
  readonly written: Written
  /** Whether the same call may succeed later, without any change. Look at `written` before you repeat it. */
  readonly retryable: boolean
  /** How long the service asks to wait, with 429 and 503. */
  readonly retryAfterMs: number | undefined

  constructor(failure: Failure) {
    super(failure.message, failure.cause === undefined ? {} : { cause: failure.cause })
    this.name = new.target.name
    this.code = failure.code
    this.status = failure.status
    this.requestId = failure.requestId
    this.problem = failure.problem
    this.written = failure.written
    this.retryable = failure.retryable
    this.retryAfterMs = failure.retryAfterMs
  }
}

/** The request is wrong: the service refused it, or the client did not even send it. `problem.errors` names the fields. */
export class InvalidRequestError extends PunctualError {}

/** The key is missing or wrong, or it does not have the right. */
export class AccessError extends PunctualError {}

/** There is no such timer, key, job or message. */
export class NotFoundError extends PunctualError {}

/** The state does not allow the call: the timer exists, has another revision, or is being delivered. */
export class ConflictError extends PunctualError {}

/** A quota is used up. `retryAfterMs` says when to try again. */
export class QuotaError extends PunctualError {}

/** The service could not do it now: it is overloaded, restarts, or has failed. */
export class UnavailableError extends PunctualError {}

/** There was no usable answer: no connection, a broken one, a time-out, or the caller's signal. */
export class ConnectionError extends PunctualError {}

/** The error of a request that the client refuses to send. */
export const refusedHere = (field: string, detail: string): InvalidRequestError =>
  new InvalidRequestError({
    code: "invalidRequest",
    message: `${field} ${detail}`,
    written: "no",
    retryable: false,
  })

const families: Readonly<Record<number, typeof PunctualError>> = {
  401: AccessError,
  403: AccessError,
  404: NotFoundError,
  409: ConflictError,
  429: QuotaError,
}

/** The error of the family that belongs to the status. */
export const errorOf = (failure: Failure): PunctualError => {
  const { status } = failure
  if (status === undefined || failure.code === "unreadableAnswer") return new ConnectionError(failure)
  const Family = families[status] ?? (status >= 500 ? UnavailableError : InvalidRequestError)
  return new Family(failure)
}
