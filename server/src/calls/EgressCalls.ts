// What the egress rules of this node say about a URL.
import type { CheckEgress, CheckEgressAnswer } from "@punctual/api/CheckEgress"
import { Overloaded, type Problem } from "@punctual/api/Problem"
import type { EgressReport } from "@punctual/egress/EgressGate"
import { Effect } from "effect"
import { Deliverers } from "../ports/Deliverer.ts"
import type { Call } from "./Call.ts"

export interface EgressCalls {
  readonly check: Call<CheckEgress, CheckEgressAnswer>
}

export const makeEgressCalls: Effect.Effect<EgressCalls, never, Deliverers> = Effect.map(
  Deliverers,
  ({ byType }) => {
    const gate = byType.get("webhook")?.gate
    return {
      check: ({ body }) =>
        gate === undefined
          ? Effect.succeed(noWebhooks)
          : Effect.flatMap(
              gate.check(body.url),
              (report): Effect.Effect<CheckEgressAnswer, Problem> =>
                report === undefined ? Effect.fail(tooManyChecks()) : Effect.succeed(shown(report)),
            ),
    }
  },
)

const noWebhooks: CheckEgressAnswer = {
  allowed: false,
  verdict: "refused",
  reason: "This process sends no webhooks.",
  addresses: [],
}

const shown = ({ isAllowed, isKnown, entry, reason, addresses }: EgressReport): CheckEgressAnswer => ({
  allowed: isAllowed,
  verdict: isAllowed ? "allowed" : isKnown ? "refused" : "unknown",
  ...(entry === undefined ? {} : { entry }),
  reason,
  addresses: addresses.map((judged) => ({
    address: judged.address,
    allowed: judged.entry !== undefined,
    ...(judged.entry === undefined ? {} : { entry: judged.entry }),
  })),
})

const tooManyChecks = (): Overloaded =>
  new Overloaded({
    detail: "Other checks are still resolving their hosts. This limit is fixed: retry.",
    retryAfterSeconds: 1,
    written: "no",
  })
