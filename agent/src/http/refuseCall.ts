// The failures of the application as problems of the contract.
import { isReading, type NeededAction } from "@punctual/api/CallTerms"
import { invalidField } from "@punctual/api/invalidRequest"
import {
  CallExistsProblem,
  CallNotFoundProblem,
  CallStateProblem,
  EgressRefused,
  InvalidRequest,
  type Problem,
  QuotaExceeded,
  StoreUnavailableProblem,
} from "@punctual/api/Problem"
import { Effect } from "effect"
import type { CallConflict, CallNotFound, CallRefused, StoreUnavailable } from "../calls/ServiceCalls.ts"

type CallFailure = CallNotFound | CallConflict | CallRefused | StoreUnavailable

const retryAfterSeconds = 5

export const refuseCall =
  (action: NeededAction) =>
  (failure: CallFailure): Effect.Effect<never, Problem> =>
    Effect.fail(problemOf(failure, action))

const problemOf = (failure: CallFailure, action: NeededAction): Problem => {
  const detail = failure.message
  switch (failure._tag) {
    case "CallNotFound":
      return new CallNotFoundProblem({ detail })
    case "CallConflict":
      return failure.code === "callExists"
        ? new CallExistsProblem({ detail })
        : new CallStateProblem({ detail })
    case "StoreUnavailable":
      return storeAway(action, detail)
    case "CallRefused":
      return refusal(failure)
  }
}

const refusal = ({ code, field, message: detail }: CallRefused): Problem => {
  switch (code) {
    case "egressRefused":
      return new EgressRefused({ detail, errors: [{ pointer: "/request/url", detail }] })
    case "quotaExceeded":
      return new QuotaExceeded({ detail, quota: "calls", retryAfterSeconds, written: "no" })
    case "invalidRequest":
      return field === undefined
        ? new InvalidRequest({ detail, errors: [{ pointer: "", detail }] })
        : invalidField(`/${field}`, detail)
  }
}

/** A call that only reads has no effect, whatever went wrong. */
const storeAway = (action: NeededAction, detail: string): Problem =>
  new StoreUnavailableProblem({
    detail,
    retryAfterSeconds: 1,
    written: isReading(action) ? "no" : "unknown",
  })

/** The agent did not answer in time. The work goes on, but its answer is dropped. */
export const tooLate = (action: NeededAction): Problem =>
  storeAway(
    action,
    isReading(action)
      ? "The agent did not answer in time: retry."
      : "The agent did not answer in time, and may have written the request. A repeat with the same serviceCallId or idempotencyKey is safe.",
  )
