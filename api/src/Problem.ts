/**
 * Failures as RFC 9457 problem documents (`application/problem+json`). Each `code` has its own class, so that every
 * endpoint declares exactly which problems it may answer, and a typed client can distinguish them. `type` is a URN made
 * of the code. It only identifies the problem and cannot be fetched.
 *
 * There are more codes than the calls of the contract need: `notFound` (404, no such path), `methodNotAllowed` (405)
 * and `requestTimeout` (408, the body arrived too slowly) are for requests that reach no call. `restoredFromBackup`
 * (409) is for a restored service that an operator must resume explicitly.
 */
import { Schema } from "effect"
import { HttpApiError } from "effect/http-api"
import { Count } from "./Count.ts"

export const problemContentType = "application/problem+json"

/** The status and the title that belong to each code. */
export const problemCodes = {
  invalidJson: { status: 400, title: "The body is not valid JSON" },
  invalidRequest: { status: 400, title: "The request is not valid" },
  egressRefused: { status: 400, title: "The egress rules do not allow this address" },
  unauthorized: { status: 401, title: "A valid key is needed" },
  forbidden: { status: 403, title: "The caller may not do this" },
  notFound: { status: 404, title: "There is nothing at this path" },
  messageNotFound: { status: 404, title: "There is no such undeliverable message" },
  timerNotFound: { status: 404, title: "There is no such timer" },
  keyNotFound: { status: 404, title: "There is no such key" },
  jobNotFound: { status: 404, title: "There is no such job" },
  callNotFound: { status: 404, title: "There is no such service call" },
  methodNotAllowed: { status: 405, title: "The service does not accept this method here" },
  requestTimeout: { status: 408, title: "The request took too long to arrive" },
  timerExists: { status: 409, title: "The timer already exists" },
  revisionMismatch: { status: 409, title: "The timer has another revision" },
  timerInFlight: { status: 409, title: "The timer is being delivered" },
  clockNotManual: { status: 409, title: "The clock cannot be moved" },
  restoredFromBackup: { status: 409, title: "The store was restored from a backup" },
  keyRefused: { status: 409, title: "The key cannot be made or changed like this" },
  messageRefused: { status: 409, title: "The bus cannot do this with the message" },
  countChanged: { status: 409, title: "More matches than expected" },
  callExists: { status: 409, title: "The service call exists with another request" },
  callState: { status: 409, title: "The service call is in another state" },
  bodyTooLarge: { status: 413, title: "The body is too large" },
  unsupportedMediaType: { status: 415, title: "The body has an unsupported type or encoding" },
  quotaExceeded: { status: 429, title: "A quota is used up" },
  internal: { status: 500, title: "The service failed" },
  brokerUnavailable: { status: 503, title: "The message broker is unreachable" },
  overloaded: { status: 503, title: "The service is overloaded" },
  ownerUnavailable: { status: 503, title: "The node that owns the timer is unreachable" },
  storeUnavailable: { status: 503, title: "The store does not answer" },
} as const

export type ProblemCode = keyof typeof problemCodes

const FieldErrorSchema = Schema.Struct({
  pointer: Schema.String.annotate({
    description: "JSON pointer (RFC 6901) to the field; empty for the body.",
  }),
  detail: Schema.String.annotate({ description: "What is wrong with the field, and how to fix it." }),
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

/** Whether the service may have carried out a refused request, completely or in part. */
export const writtenAnswers = ["no", "unknown"] as const

export type Written = (typeof writtenAnswers)[number]

const written = Schema.Literals(writtenAnswers).annotate({
  description:
    "no: the service wrote nothing of the request and will not. unknown: the service may have written all or a part of the request, or may still write it.",
})

const retryAfterSeconds = Count.annotate({
  description: "Retry after this many seconds. The Retry-After header says the same.",
})

/** The fields of every 429 and 503: when to retry, and whether the first try may have had an effect. */
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

export class EgressRefused extends HttpApiError.Problem<EgressRefused>()(
  "EgressRefused",
  declare("egressRefused"),
  { ...members("egressRefused"), errors: Schema.Array(FieldErrorSchema) },
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

export class KeyNotFound extends HttpApiError.Problem<KeyNotFound>()(
  "KeyNotFound",
  declare("keyNotFound"),
  members("keyNotFound"),
) {}

export class KeyChangeRefused extends HttpApiError.Problem<KeyChangeRefused>()(
  "KeyChangeRefused",
  declare("keyRefused"),
  members("keyRefused"),
) {}

export class JobNotFound extends HttpApiError.Problem<JobNotFound>()(
  "JobNotFound",
  declare("jobNotFound"),
  members("jobNotFound"),
) {}

export class CountChanged extends HttpApiError.Problem<CountChanged>()(
  "CountChanged",
  declare("countChanged"),
  {
    ...members("countChanged"),
    currentCount: Count.annotate({ description: "How many match now." }),
  },
) {}

export class CallNotFoundProblem extends HttpApiError.Problem<CallNotFoundProblem>()(
  "CallNotFound",
  declare("callNotFound"),
  members("callNotFound"),
) {}

export class CallExistsProblem extends HttpApiError.Problem<CallExistsProblem>()(
  "CallExists",
  declare("callExists"),
  members("callExists"),
) {}

export class CallStateProblem extends HttpApiError.Problem<CallStateProblem>()(
  "CallState",
  declare("callState"),
  members("callState"),
) {}

export class StoreUnavailableProblem extends HttpApiError.Problem<StoreUnavailableProblem>()(
  "StoreUnavailable",
  declare("storeUnavailable"),
  { ...members("storeUnavailable"), ...tryAgain },
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
  | EgressRefused
  | Unauthorized
  | Forbidden
  | NotFound
  | TimerNotFound
  | MessageNotFound
  | KeyNotFound
  | KeyChangeRefused
  | JobNotFound
  | CountChanged
  | CallNotFoundProblem
  | CallExistsProblem
  | CallStateProblem
  | StoreUnavailableProblem
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

/** The problems that every call may answer besides its own. */
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

/** Any problem as data, for the result of an item that failed. */
export const ProblemDocument = Schema.Struct({
  type: Schema.String,
  title: Schema.String,
  status: Count,
  code: Schema.String,
  detail: Schema.String,
  errors: Schema.optionalKey(Schema.Array(FieldErrorSchema)),
  currentRevision: Schema.optionalKey(Count),
  currentCount: Schema.optionalKey(Count),
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
  ...("currentCount" in problem ? { currentCount: problem.currentCount } : {}),
  ...("quota" in problem ? { quota: problem.quota } : {}),
  ...("retryAfterSeconds" in problem
    ? { retryAfterSeconds: problem.retryAfterSeconds, written: problem.written }
    : {}),
})
