/** The client of Punctual: create, change, find and cancel timers. */
export type * from "./contract/problems.ts"
export type * from "./contract/requests.ts"
export type * from "./contract/timers.ts"
export type { Answer } from "./core/Caller.ts"
export { parseDuration } from "./core/durations.ts"
export { newTimerId } from "./core/newTimerId.ts"
export type {
  AnswerEvent,
  CallOptions,
  ClientClock,
  DelayFrom,
  DelayOptions,
  FailureEvent,
  Hooks,
  Logger,
  PayloadOptions,
  PunctualOptions,
  RequestEvent,
  Transport,
  TransportRequest,
} from "./core/options.ts"
export { type Page, Paged } from "./core/Paged.ts"
export { jsonText, RawJson, rawJson } from "./core/RawJson.ts"
export {
  AccessError,
  ConflictError,
  ConnectionError,
  type Failure,
  InvalidRequestError,
  NotFoundError,
  PunctualError,
  QuotaError,
  UnavailableError,
} from "./errors.ts"
export { Punctual } from "./Punctual.ts"
export type { Timers } from "./Timers.ts"
