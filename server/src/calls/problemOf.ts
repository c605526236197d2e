// Translates refusals of the engine and the store to problems of the contract.
import { isReading, type NeededAction } from "@punctual/api/CallTerms"
import { invalidField } from "@punctual/api/invalidRequest"
import {
  Internal,
  Overloaded,
  OwnerUnavailable,
  type Problem,
  QuotaExceeded,
  type Written,
} from "@punctual/api/Problem"
import { Effect } from "effect"
import type { TooManyNamespaces } from "../engine/front/matchNamespaces.ts"
import type { RefusedWrite } from "../engine/front/RefusedWrite.ts"
import type { SettingsContended, TooManySettings } from "../engine/namespaces/NamespaceDirectory.ts"
import type { InvalidCursor, StoreError } from "../ports/TimerStore.ts"

type RefusedCall = RefusedWrite | StoreError | InvalidCursor | TooManyNamespaces

/**
 * Fails with a problem of the contract. The message of the store goes to the log, and callers do not see it. `ofStore`
 * says whether the call may have written something if the store failed.
 */
export const refuse = (error: RefusedCall, ofStore: Written = "unknown"): Effect.Effect<never, Problem> =>
  error._tag === "StoreError"
    ? Effect.andThen(
        Effect.logError(`the store failed: ${error.message}`),
        Effect.fail(problemOf(error, ofStore)),
      )
    : Effect.fail(problemOf(error))

/** Like `refuse`, for a call that only reads. */
export const refuseRead = (error: RefusedCall): Effect.Effect<never, Problem> => refuse(error, "no")

/** Like `refuse`, for a call with many writes: some may be stored when another is refused. */
export const refuseSome = (
  error: RefusedWrite | StoreError | InvalidCursor,
  deed: "cancelled" | "replayed" | "discarded",
): Effect.Effect<never, Problem> => {
  switch (error._tag) {
    case "TooManyWrites":
      return Effect.fail(
        new Overloaded({
          detail: `Too many writes are waiting. This limit is fixed. ${mayBePartial(deed)}`,
          retryAfterSeconds: wholeSeconds(error.retryAfterMs),
          written: "unknown",
        }),
      )
    case "NoOwner":
      return Effect.fail(
        new OwnerUnavailable({
          detail: `${sentence(error.message)} ${mayBePartial(deed)}`,
          retryAfterSeconds: wholeSeconds(error.retryAfterMs),
          written: "unknown",
        }),
      )
    default:
      return refuse(error)
  }
}

/** Fails with a problem of the contract, for a change of settings. */
export const refuseChange = (
  error: StoreError | SettingsContended | TooManySettings | Problem,
): Effect.Effect<never, Problem> => {
  if (error._tag === "SettingsContended") {
    return Effect.fail(
      new Overloaded({
        detail: "Other callers are changing the same settings. Nothing was changed: retry.",
        retryAfterSeconds: 1,
        written: "no",
      }),
    )
  }
  if (error._tag === "TooManySettings") {
    return Effect.fail(
      invalidField(
        "/namespace",
        `cannot have settings: ${error.limit} ${error.limit === 1 ? "namespace already has" : "namespaces already have"} settings, which is the limit (TIMER_MAX_NAMESPACES). Reset all settings of another namespace, or raise the limit. A namespace that was paused needs its past pauses while it has pending timers`,
      ),
    )
  }
  return error._tag === "StoreError" ? refuse(error) : Effect.fail(error)
}

const nothingWritten = "Nothing was written: wait for the retry-after time, then retry."

/** Repeating a create with executeAt fires once. For other calls the caller can read the timer first. */
const notKnown =
  "It is unknown whether the service wrote this: wait for the retry-after time, then repeat the call, or read the timer to see its state."

const quotaDetail = {
  maxPending: (limit: number) =>
    `The namespace already has ${limit} pending ${limit === 1 ? "timer" : "timers"}, which is its limit. Nothing was written. Try again when timers have fired, or cancel some. An operator can raise the limit: maxPending of the namespace, or TIMER_MAX_PENDING_PER_NAMESPACE of the service.`,
  createsPerSecond: (limit: number) =>
    `The namespace has reached its limit of ${limit} ${limit === 1 ? "create" : "creates"} per second. Nothing was written: wait for the retry-after time, then retry, or raise the namespace's setting createsPerSecond.`,
}

const sentence = (clause: string): string => `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`

const mayBePartial = (deed: string): string =>
  `Some of the timers may have been ${deed}: wait for the retry-after time, then repeat the call.`

export const problemOf = (error: RefusedCall, ofStore: Written = "unknown"): Problem => {
  switch (error._tag) {
    case "InvalidCursor":
      return invalidField("/cursor", "must be the nextCursor of an earlier answer to the same request")
    case "TooManyNamespaces":
      return invalidField(
        "/namespaces",
        `match more than ${error.most} namespaces: name them, or use longer prefixes`,
      )
    case "TooManyWrites":
      return new Overloaded({
        detail:
          "Too many writes are waiting. This limit is fixed. Nothing was written: wait for the retry-after time, then retry.",
        retryAfterSeconds: wholeSeconds(error.retryAfterMs),
        written: "no",
      })
    case "NoOwner":
      return new OwnerUnavailable({
        detail: `${sentence(error.message)} ${error.mayBeDone === true ? notKnown : nothingWritten}`,
        retryAfterSeconds: wholeSeconds(error.retryAfterMs),
        written: error.mayBeDone === true ? "unknown" : "no",
      })
    case "QuotaUsedUp":
      return new QuotaExceeded({
        detail: quotaDetail[error.quota](error.limit),
        quota: error.quota,
        retryAfterSeconds: wholeSeconds(error.retryAfterMs),
        written: "no",
      })
    case "TimerUnstorable":
      return invalidField("", error.reason)
    case "TimerUnreadable":
      return new Internal({ detail: error.reason })
    case "StoreError":
      return error.isFatal
        ? new Internal({ detail: "The store has failed and the service is stopping." })
        : new Overloaded({
            detail: "The store did not answer in time: retry.",
            retryAfterSeconds: 1,
            written: ofStore,
          })
  }
}

/** `Retry-After` has whole seconds. A value of zero would cause too many retries at once. */
const wholeSeconds = (pauseMs: number): number => Math.max(1, Math.ceil(pauseMs / 1000))

/** How long a call may wait for its answer, unless its endpoint declares another time. */
export const usualAnswerMs = 60_000

/** The store did not answer within that time. It is unknown whether a writing call has had or will have an effect. */
export const unanswered = (action: NeededAction): Problem =>
  isReading(action)
    ? new Overloaded({
        detail: "The store did not answer in time: retry.",
        retryAfterSeconds: 5,
        written: "no",
      })
    : new Overloaded({
        detail:
          "The store did not answer in time. It is unknown whether the service wrote this: repeat the call.",
        retryAfterSeconds: 5,
        written: "unknown",
      })
