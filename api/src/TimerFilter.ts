/** The filter of lists, counts and calls on many timers. */
import { Schema } from "effect"
import { CorrelationId } from "./CorrelationId.ts"
import { durationBetween, maxDurationMs } from "./DurationMs.ts"
import { described, usedFor } from "./described.ts"
import { Instant } from "./Instant.ts"
import { Namespace } from "./Namespace.ts"
import { everyNamespace, NamespaceChoices } from "./NamespaceChoices.ts"
import { atMostOneOf, exactlyOneOf } from "./oneOf.ts"
import { Tag } from "./Tags.ts"
import { TargetHost } from "./TargetHost.ts"
import { idMessage, idPattern, timerIdBytes, whyNotId } from "./TimerId.ts"

const IdPrefix = Schema.String.annotate({ message: idMessage }).check(
  Schema.makeFilter(whyNotId, {
    toJsonSchema: () => [{ minLength: 1, maxLength: timerIdBytes, pattern: idPattern }, true],
    description: "Only timers whose timerId begins with this text.",
  }),
)

/** Every reason that a finished timer can have. An unknown reason is refused, because a typo would select nothing. */
export const finishReasons = [
  "attemptsExhausted",
  "durationExhausted",
  "expired",
  "refused",
  "egressRefused",
  "invalidTarget",
  "notDead",
] as const

const Reason = Schema.Literals(finishReasons).annotate({
  message: `must be one of ${finishReasons.join(", ")}`,
  description:
    "Only dead letters with this reason, and cancelled timers with it. A timer that a call cancelled has no reason.",
})

export const errorClasses = ["timeout", "network", "4xx", "5xx"] as const

const ErrorClass = Schema.Literals(errorClasses).annotate({
  message: `must be one of ${errorClasses.join(", ")}`,
  description:
    "Only timers whose last attempt failed in this way. timeout: no complete answer in time. network: connection refused, host not found, or connection lost. 4xx, 5xx: the status of the answer.",
})

const MinLateness = durationBetween(1, maxDurationMs).pipe(
  usedFor(
    "Only deliveries whose latenessMs is at least this, and pending timers that are overdue by at least this now. Cancelled timers and dead letters have no lateness and do not match.",
  ),
)

/**
 * `from` is inclusive and `until` is exclusive, so that adjacent ranges neither overlap nor leave a gap. They apply to
 * fireAt of pending timers and to finishedAt of finished timers. The last four filters have no index.
 */
export const timerFilterFields = {
  from: Schema.optionalKey(
    Instant.pipe(
      described("Only timers at or after this instant: by fireAt if pending, by finishedAt if finished."),
    ),
  ),
  until: Schema.optionalKey(Instant.pipe(described("Only timers before this instant."))),
  idPrefix: Schema.optionalKey(IdPrefix),
  correlationId: Schema.optionalKey(CorrelationId),
  tag: Schema.optionalKey(Tag),
  host: Schema.optionalKey(TargetHost),
  reason: Schema.optionalKey(Reason),
  error: Schema.optionalKey(ErrorClass),
  minLateness: Schema.optionalKey(MinLateness),
}

export const endsAfterItBegins = Schema.makeFilter(
  (filter: { readonly from?: number; readonly until?: number }) =>
    filter.from !== undefined && filter.until !== undefined && filter.until <= filter.from
      ? { path: ["until"], issue: "must be after from" }
      : undefined,
)

const fieldNames = Object.keys(timerFilterFields)

const selectsSomething = Schema.makeFilter(
  (filter: Readonly<Record<string, unknown>>) =>
    fieldNames.some((field) => field in filter)
      ? undefined
      : `must have at least one of ${fieldNames.join(", ")}; for all timers send all: true instead`,
  { toJsonSchema: () => ({ minProperties: 1 }) },
)

/** The filter of calls that change timers. It must have at least one field. */
export const TimerFilter = Schema.Struct(timerFilterFields)
  .annotate({
    message: "must be an object of filters",
    description:
      "Selects timers. All filters must match. host, reason, error and minLateness have no index: one call examines at most 10,000 timers.",
  })
  .check(selectsSomething, endsAfterItBegins)
  .annotate({ identifier: "TimerFilter" })

export const listStates = ["pending", "delivered", "cancelled", "dead"] as const

const statesMessage = `must be an array of 1 to ${listStates.length} states`

const State = Schema.Literals(listStates).annotate({
  message: `must be one of ${listStates.join(", ")} (pending includes timers in flight)`,
  description: "The state (default pending). pending includes timers in flight.",
})

const isGivenOnce = Schema.makeFilter(
  (states: ReadonlyArray<string>) => {
    if (states.length > listStates.length) return undefined
    const repeated = states.findIndex((state, at) => states.indexOf(state) < at)
    return repeated === -1 ? undefined : { path: [repeated], issue: "is given twice: remove one of them" }
  },
  { toJsonSchema: () => ({ uniqueItems: true }) },
)

/** The whole filter of lists and counts, with namespaces and states. */
export const listFilterFields = {
  namespace: Schema.optionalKey(Namespace),
  namespaces: Schema.optionalKey(NamespaceChoices),
  state: Schema.optionalKey(State),
  states: Schema.optionalKey(
    Schema.Array(State)
      .annotate({ message: statesMessage })
      .check(
        Schema.isBetweenLength(1, listStates.length, {
          message: statesMessage,
          description: "Several states instead of state.",
        }),
        isGivenOnce,
      ),
  ),
  ...timerFilterFields,
}

interface Scope {
  readonly namespaces?: ReadonlyArray<string>
  readonly state?: string
  readonly states?: ReadonlyArray<string>
  readonly reason?: string
}

const statesIn = ({ state = "pending", states = [state] }: Scope): ReadonlyArray<string> => states

/** Over all namespaces there would be too many delivered and cancelled timers to merge. */
const isBoundedOverAll = Schema.makeFilter((scope: Scope) =>
  scope.namespaces?.[0] === everyNamespace &&
  statesIn(scope).some((state) => state !== "pending" && state !== "dead")
    ? {
        path: [scope.states === undefined ? "state" : "states"],
        issue: 'must be pending or dead with namespaces ["*"]: name the namespaces for other states',
      }
    : undefined,
)

const statesWithReason: ReadonlyArray<string> = ["dead", "cancelled"]

/** Without this check the caller would get an empty list and not see the mistake. */
const hasStateWithReason = Schema.makeFilter((scope: Scope) =>
  scope.reason !== undefined && !statesIn(scope).some((state) => statesWithReason.includes(state))
    ? {
        path: ["reason"],
        issue: 'is only for dead letters and cancelled timers: add state "dead" or "cancelled", or remove it',
      }
    : undefined,
)

/** The checks of every request with the whole filter. */
export const scopeChecks = [
  exactlyOneOf("namespace", "namespaces"),
  atMostOneOf("state", "states"),
  endsAfterItBegins,
  isBoundedOverAll,
  hasStateWithReason,
] as const
