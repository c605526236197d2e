/**
 * Failures as RFC 9457 problem documents (`application/problem+json`): one class for each `code`, so that
 * every endpoint declares exactly what it may answer and a typed client can tell them apart. `type` is a
 * URN made of the code; it identifies and is not meant to be fetched.
 *
 * The codes are those of the contract, and three more for requests that reach no call of it: `notFound`
 * (404, no such path), `methodNotAllowed` (405) and `requestTimeout` (408, the body came too slowly); and
 * `restoredFromBackup` (409), for a service that does not go on firing after a restore without being told to.
 */
import { Schema } from "effect"
import { HttpApiError } from "effect/http-api"
import { Count } from "./Count.ts"

export const problemContentType = "application/problem+json"

/** The status and the title that belong to each code. */
export const problemCodes = {
  invalidJson: { status: 400, title: "The body is not valid JSON" },
  invalidRequest: { status: 400, title: "The request is not valid" },
  unauthorized: { status: 401, title: "Authentication is needed" },
  forbidden: { status: 403, title: "This is not allowed" },
  notFound: { status: 404, title: "There is nothing at this path" },
  messageNotFound: { status: 404, title: "There is no such undeliverable message" },
  timerNotFound: { status: 404, title: "There is no such timer" },
  methodNotAllowed: { status: 405, title: "This path does not take this method" },
  requestTimeout: { status: 408, title: "The request took too long to arrive" },
  timerExists: { status: 409, title: "The timer exists already" },
  revisionMismatch: { status: 409, title: "The timer has another revision" },
  timerInFlight: { status: 409, title: "The timer is being delivered" },
  clockNotManual: { status: 409, title: "The clock cannot be moved" },
  restoredFromBackup: { status: 409, title: "The store was restored from a backup" },
  messageRefused: { status: 409, title: "The bus cannot do this with the message" },
  bodyTooLarge: { status: 413, title: "The body is too large" },
  unsupportedMediaType: { status: 415, title: "The body must be application/json" },
  quotaExceeded: { status: 429, title: "A quota is used up" },
  internal: { status: 500, title: "The service failed" },
  brokerUnavailable: { status: 503, title: "The message broker is not in reach" },
  overloaded: { status: 503, title: "The service has too much to do" },
  ownerUnavailable: { status: 503, title: "The timer's owner is not in reach" },
} as const

export type ProblemCode = keyof typeof problemCodes

const FieldErrorSchema = Schema.Struct({
  pointer: Schema.String.annotate({
    description: "JSON pointer (RFC 6901) to the field; empty for the body.",
  }),
  detail: Schema.String.annotate({ description: "What is wrong with it, and the fix." }),
}).annotate({ identifier: "FieldError", description: "What is wrong with one field." })

export type FieldError = typeof FieldErrorSchema.Type

const declare = <const Code extends ProblemCode>(code: Code) =>
  ({
    type: `urn:punctual:problem:${code}` as const,
    status: problemCodes[code].status as (typeof problemCodes)[Code]["status"],
    title: problemCodes[code].title,
  }) as const

const members = <const Code extends ProblemCode>(code: Code) => ({
  code: Schema.tag(code),
  detail: Schema.String,
})

/** Whether a refused request may have been carried out, in whole or in part. */
export const writtenAnswers = ["no", "unknown"] as const

export type Written = (typeof writtenAnswers)[number]

const written = Schema.Literals(writtenAnswers).annotate({
  description:
    "no: nothing of the request was written, and nothing will be. unknown: all of it or a part of it may have been written, or may still be.",
})

const retryAfterSeconds = Count.annotate({
  description: "After how many seconds to try again; the Retry-After header says the same.",
})

/** What every 429 and 503 says: when to try again, and whether the first try may have had an effect. */
const tryAgain = { retryAfterSeconds, written }

export class InvalidJson extends HttpApiError.Problem<InvalidJson>()(
  "InvalidJson",
  declare("invalidJson"),
  members("invalidJson"),
) {}

export class InvalidRequest extends HttpApiError.Problem<InvalidRequest>()(
  "InvalidRequest",
  declare("invalidRequest"),
  { ...members("invalidRequest"), errors: Schema.Array(FieldErrorSchema) },
) {}

export class Unauthorized extends HttpApiError.Problem<Unauthorized>()(
  "Unauthorized",
  declare("unauthorized"),
  members("unauthorized"),
) {}

export class Forbidden extends HttpApiError.Problem<Forbidden>()(
  "Forbidden",
  declare("forbidden"),
  members("forbidden"),
) {}

export class NotFound extends HttpApiError.Problem<NotFound>()(
  "NotFound",
  declare("notFound"),
  members("notFound"),
) {}

export class TimerNotFound extends HttpApiError.Problem<TimerNotFound>()(
  "TimerNotFound",
  declare("timerNotFound"),
  members("timerNotFound"),
) {}

export class MethodNotAllowed extends HttpApiError.Problem<MethodNotAllowed>()(
  "MethodNotAllowed",
  declare("methodNotAllowed"),
  members("methodNotAllowed"),
) {}

export class RequestTimeout extends HttpApiError.Problem<RequestTimeout>()(
  "RequestTimeout",
  declare("requestTimeout"),
  members("requestTimeout"),
) {}

export class TimerExists extends HttpApiError.Problem<TimerExists>()(
  "TimerExists",
  declare("timerExists"),
  members("timerExists"),
) {}

export class RevisionMismatch extends HttpApiError.Problem<RevisionMismatch>()(
  "RevisionMismatch",
  declare("revisionMismatch"),
  { ...members("revisionMismatch"), currentRevision: Count },
) {}

export class TimerInFlight extends HttpApiError.Problem<TimerInFlight>()(
  "TimerInFlight",
  declare("timerInFlight"),
  members("timerInFlight"),
) {}

export class MessageNotFound extends HttpApiError.Problem<MessageNotFound>()(
  "MessageNotFound",
  declare("messageNotFound"),
  members("messageNotFound"),
) {}

export class MessageRefusedByBus extends HttpApiError.Problem<MessageRefusedByBus>()(
  "MessageRefusedByBus",
  declare("messageRefused"),
  members("messageRefused"),
) {}

export class BrokerUnavailable extends HttpApiError.Problem<BrokerUnavailable>()(
  "BrokerUnavailable",
  declare("brokerUnavailable"),
  { ...members("brokerUnavailable"), ...tryAgain },
) {}

export class ClockNotManual extends HttpApiError.Problem<ClockNotManual>()(
  "ClockNotManual",
  declare("clockNotManual"),
  members("clockNotManual"),
) {}

export class RestoredFromBackup extends HttpApiError.Problem<RestoredFromBackup>()(
  "RestoredFromBackup",
  declare("restoredFromBackup"),
  members("restoredFromBackup"),
) {}

export class BodyTooLarge extends HttpApiError.Problem<BodyTooLarge>()(
  "BodyTooLarge",
  declare("bodyTooLarge"),
  members("bodyTooLarge"),
) {}

export class UnsupportedMediaType extends HttpApiError.Problem<UnsupportedMediaType>()(
  "UnsupportedMediaType",
  declare("unsupportedMediaType"),
  members("unsupportedMediaType"),
) {}

export class QuotaExceeded extends HttpApiError.Problem<QuotaExceeded>()(
  "QuotaExceeded",
  declare("quotaExceeded"),
  {
    ...members("quotaExceeded"),
    quota: Schema.String.annotate({ description: "The name of the quota that is used up." }),
    ...tryAgain,
  },
) {}

export class Internal extends HttpApiError.Problem<Internal>()(
  "Internal",
  declare("internal"),
  members("internal"),
) {}

export class Overloaded extends HttpApiError.Problem<Overloaded>()("Overloaded", declare("overloaded"), {
  ...members("overloaded"),
  ...tryAgain,
}) {}

export class OwnerUnavailable extends HttpApiError.Problem<OwnerUnavailable>()(
  "OwnerUnavailable",
  declare("ownerUnavailable"),
  { ...members("ownerUnavailable"), ...tryAgain },
) {}

export type Problem =
  | InvalidJson
  | InvalidRequest
  | Unauthorized
  | Forbidden
  | NotFound
  | TimerNotFound
  | MessageNotFound
  | MessageRefusedByBus
  | BrokerUnavailable
  | MethodNotAllowed
  | RequestTimeout
  | TimerExists
  | RevisionMismatch
  | TimerInFlight
  | ClockNotManual
  | RestoredFromBackup
  | BodyTooLarge
  | UnsupportedMediaType
  | QuotaExceeded
  | Internal
  | Overloaded
  | OwnerUnavailable

/** What every call may answer besides its own failures. */
export const commonProblems = [
  InvalidJson,
  InvalidRequest,
  Unauthorized,
  Forbidden,
  MethodNotAllowed,
  RequestTimeout,
  BodyTooLarge,
  UnsupportedMediaType,
  QuotaExceeded,
  Internal,
  Overloaded,
  OwnerUnavailable,
] as const

/** Any problem as data: what stands in place of a result where one item of many has failed. */
export const ProblemDocument = Schema.Struct({
  type: Schema.String,
  title: Schema.String,
  status: Count,
  code: Schema.String,
  detail: Schema.String,
  errors: Schema.optionalKey(Schema.Array(FieldErrorSchema)),
  currentRevision: Schema.optionalKey(Count),
  quota: Schema.optionalKey(Schema.String),
  retryAfterSeconds: Schema.optionalKey(retryAfterSeconds),
  written: Schema.optionalKey(written),
}).annotate({ identifier: "ProblemDocument", description: "Any problem, as data." })

export type ProblemDocument = typeof ProblemDocument.Type

/** The document of a problem, in the order in which people read it. */
export const toProblemDocument = (problem: Problem): ProblemDocument => ({
  type: problem.type,
  title: problem.title,
  status: problem.status,
  code: problem.code,
  detail: problem.detail,
  ...("errors" in problem ? { errors: problem.errors } : {}),
  ...("currentRevision" in problem ? { currentRevision: problem.currentRevision } : {}),
  ...("quota" in problem ? { quota: problem.quota } : {}),
  ...("retryAfterSeconds" in problem
    ? { retryAfterSeconds: problem.retryAfterSeconds, written: problem.written }
    : {}),
})
