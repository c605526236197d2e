// What the engine and the store refuse, in the words of the contract.
import { type Action, isReading } from "@punctual/api/CallTerms"
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
import type { SettingsContended } from "../engine/namespaces/NamespaceDirectory.ts"
import type { InvalidCursor, StoreError } from "../ports/TimerStore.ts"

type RefusedCall = RefusedWrite | StoreError | InvalidCursor | TooManyNamespaces

/**
 * Fails with the contract's problem. The store's own message is logged, and callers do not see it. `ofStore` says whether a
 * call that the store failed may have written something.
 */
export const refuse = (error: RefusedCall, ofStore: Written = "unknown"): Effect.Effect<never, Problem> =>
  error._tag === "StoreError"
    ? Effect.andThen(
        Effect.logError(`the store failed: ${error.message}`),
        Effect.fail(problemOf(error, ofStore)),
      )
    : Effect.fail(problemOf(error))

/** As `refuse`, for a call that only reads. */
export const refuseRead = (error: RefusedCall): Effect.Effect<never, Problem> => refuse(error, "no")

/** As `refuse`, for a call that makes many writes: some may be stored when another is refused. */
export const refuseSome = (
  error: RefusedWrite | StoreError | InvalidCursor,
  deed: "cancelled" | "replayed" | "discarded",
): Effect.Effect<never, Problem> => {
  switch (error._tag) {
    case "TooManyWrites":
      return Effect.fail(
        new Overloaded({
          detail: `Too many writes are waiting, which is a fixed limit. ${mayBePartial(deed)}`,
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

/** Fails with the contract's problem, for a change of settings. */
export const refuseChange = (
  error: StoreError | SettingsContended | Problem,
): Effect.Effect<never, Problem> => {
  if (error._tag === "SettingsContended") {
    return Effect.fail(
      new Overloaded({
        detail: "Others change the same settings all the time. Nothing was changed: try again.",
        retryAfterSeconds: 1,
        written: "no",
      }),
    )
  }
  return error._tag === "StoreError" ? refuse(error) : Effect.fail(error)
}

const nothingWritten = "Nothing was written: try again after the pause."

/** A create that is repeated with its executeAt is one firing; everything else can be looked at first. */
const notKnown =
  "Whether it was written is not known: after the pause repeat the call, or read the timer to see what came of it."

const quotaDetail = {
  maxPending: (limit: number) =>
    `The namespace may have ${limit} pending ${limit === 1 ? "timer" : "timers"}, and has as many. Nothing was written: try again when some have fired, or raise the namespace's setting maxPending.`,
  createsPerSecond: (limit: number) =>
    `The namespace may create ${limit} ${limit === 1 ? "timer" : "timers"} a second. Nothing was written: try again after the pause, or raise the namespace's setting createsPerSecond.`,
}

const sentence = (clause: string): string => `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`

const mayBePartial = (deed: string): string =>
  `Some of the timers may have been ${deed}: repeat the call after the pause.`

export const problemOf = (error: RefusedCall, ofStore: Written = "unknown"): Problem => {
  switch (error._tag) {
    case "InvalidCursor":
      return invalidField("/cursor", "must be the nextCursor of an earlier answer to the same question")
    case "TooManyNamespaces":
      return invalidField(
        "/namespaces",
        `match more than ${error.most} namespaces: name them, or give longer beginnings`,
      )
    case "TooManyWrites":
      return new Overloaded({
        detail:
          "Too many writes are waiting, which is a fixed limit. Nothing was written: try again after the pause.",
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
            detail: "The store does not answer in time: try again.",
            retryAfterSeconds: 1,
            written: ofStore,
          })
  }
}

/** `Retry-After` knows whole seconds only, and a pause of zero would invite a storm. */
const wholeSeconds = (pauseMs: number): number => Math.max(1, Math.ceil(pauseMs / 1000))

/** How long a call may wait for its answer, unless its endpoint declares another time. */
export const usualAnswerMs = 60_000

/** The store has not answered within that time. What a call that writes has done, or will still do, is not known. */
export const unanswered = (action: Action): Problem =>
  isReading(action)
    ? new Overloaded({
        detail: "The store has not answered in time: try again.",
        retryAfterSeconds: 5,
        written: "no",
      })
    : new Overloaded({
        detail: "The store has not answered in time. It is not known whether this was done: repeat the call.",
        retryAfterSeconds: 5,
        written: "unknown",
      })
