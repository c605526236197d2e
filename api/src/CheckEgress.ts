/** `/egress/check`: whether the egress rules of the service allow a URL, and why. */
import { Schema } from "effect"
import { makeCallbackUrl } from "./CallbackUrl.ts"
import type { Limits } from "./Limits.ts"
import { perLimits } from "./perLimits.ts"

export const makeCheckEgress = perLimits((limits: Limits) =>
  Schema.Struct({ url: makeCallbackUrl(limits) }).annotate({
    message: "must be a JSON object",
    identifier: "CheckEgress",
  }),
)
export type CheckEgress = ReturnType<typeof makeCheckEgress>["Type"]

const JudgedAddress = Schema.Struct({
  address: Schema.String,
  allowed: Schema.Boolean,
  entry: Schema.optionalKey(
    Schema.String.annotate({ description: "The entry of TIMER_EGRESS that allows the address." }),
  ),
}).annotate({ identifier: "JudgedAddress", description: "An address of the host, and what the rules say." })

export const CheckEgressAnswer = Schema.Struct({
  allowed: Schema.Boolean.annotate({
    description:
      "Whether the rules allow a webhook to this URL now. One allowed address is enough. false also if the verdict is unknown.",
  }),
  verdict: Schema.Literals(["allowed", "refused", "unknown"]).annotate({
    description:
      "allowed, refused, or unknown: only the address can decide, and the host cannot be resolved now. A timer with such a URL tries again by its retry policy.",
  }),
  entry: Schema.optionalKey(
    Schema.String.annotate({ description: "The entry of TIMER_EGRESS that allows it." }),
  ),
  reason: Schema.String.annotate({ description: "Why, and what an operator can change." }),
  addresses: Schema.Array(JudgedAddress).annotate({
    description:
      "The address in the URL, or those of the first 20 addresses of the host, as the service resolves it now, that the rules allow. Refused addresses of a host are not shown, so that nobody can learn the addresses of the service's own network. Empty if none is allowed, or if the host cannot be resolved within TIMER_LOOKUP_TIMEOUT of the service.",
  }),
}).annotate({ identifier: "CheckEgressAnswer", description: "What would happen to a webhook to this URL." })
export type CheckEgressAnswer = typeof CheckEgressAnswer.Type
