// A test delivery that the command sends itself, signed with a given secret. The code of real deliveries makes the
// request and judges the answer, so the output shows what a receiver gets. The service is not involved.
import { formatDuration } from "@punctual/api/DurationMs"
import { formatInstant } from "@punctual/api/Instant"
import { Effect } from "effect"
import type { Attempted, NextTime } from "../../domain/Delivery.ts"
import type { Trial, TrialDelivery } from "../../ports/TrialDelivery.ts"
import type { TestOutcome } from "./TestOutcome.ts"

export const sentByCommand = (deliver: TrialDelivery, trial: Trial): Effect.Effect<TestOutcome> =>
  Effect.map(deliver(trial), ({ delivery, ...seen }) => ({
    ...judged(delivery),
    ...seen,
    signed: trial.secrets.length === 1 ? "with the given secret" : `with ${trial.secrets.length} secrets`,
  }))

const judged = (delivery: Attempted): Pick<TestOutcome, "verdict" | "detail" | "status" | "error"> => {
  const status = delivery.status === undefined ? {} : { status: delivery.status }
  switch (delivery.kind) {
    case "delivered":
      return { verdict: "delivered", ...status }
    case "rearm":
      return { verdict: "armedAgain", detail: nextText(delivery.next), ...status }
    case "retry": {
      const { error, next, retryAfterMs } = delivery
      const detail =
        next === undefined
          ? retryAfterMs === undefined
            ? "by default after 5 s, then 20 s and so on, 10 attempts in total"
            : `after ${formatDuration(retryAfterMs)} or later, as the answer requests`
          : nextText(next)
      return { verdict: "retry", detail, error, ...status }
    }
    case "dead":
      return { verdict: "dead", detail: delivery.reason, error: delivery.error, ...status }
  }
}

const nextText = (next: NextTime): string =>
  "atMs" in next ? `at ${formatInstant(next.atMs)}` : `in ${formatDuration(next.inMs)}`
