// The work that both sides of a comparison get: the same payload, random ids, due times spread alike.
import { randomUUID } from "node:crypto"
import type { Spec } from "@punctual/server/domain/Timer"
import type { CreateCommand } from "@punctual/server/engine/Scheduler"
import { handlerSpec, namespace } from "./EngineOnDisk.ts"

export const payload = Buffer.from(
  JSON.stringify({
    order: 1_042,
    customer: "c-77",
    reason: "payment retry",
    amount: "19.90",
    currency: "EUR",
  }),
)

export const command = (executeAt: number, spec: Spec = handlerSpec): CreateCommand => ({
  namespace,
  timerId: randomUUID(),
  executeAt,
  spec,
  payload,
  onExisting: "replace",
})

/** Far enough ahead that nothing fires, spread over an hour like real due times are. */
export const farAhead = (): number => Date.now() + 3_600_000 + Math.floor(Math.random() * 3_600_000)
