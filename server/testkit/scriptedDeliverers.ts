// The deliverers of an engine in a test. A script decides how each attempt ends.
import { Effect } from "effect"
import type { Target } from "../src/domain/Timer.ts"
import type { Deliverer, Delivery, Fire, Presence } from "../src/ports/Deliverer.ts"

export interface DelivererScript {
  readonly attempt: (fire: Fire) => Effect.Effect<Delivery>
  /** Whether namespaces have a handler. */
  readonly presence: Presence
  /** How long attempts prepare before they send, as a lookup does. */
  readonly preparesMs: () => number
  /** Webhooks without an answer for this long are silent. */
  readonly silentAfterMs: number | undefined
}

export const scriptedDeliverers = (script: DelivererScript): ReadonlyMap<Target["type"], Deliverer> => {
  const { attempt, presence, preparesMs, silentAfterMs } = script
  const send: Deliverer["deliver"] = (fire, onSent) =>
    Effect.suspend(() => {
      onSent?.()
      return attempt(fire)
    })
  const deliver: Deliverer["deliver"] = (fire, onSent) =>
    preparesMs() === 0 ? send(fire, onSent) : Effect.delay(send(fire, onSent), preparesMs())
  const hostOf: Deliverer["hostOf"] = (target) => ("url" in target ? new URL(target.url).host : target.type)
  return new Map<Target["type"], Deliverer>([
    ["handler", { deliver, hostOf: () => "handler", presence }],
    ["webhook", { deliver, hostOf, ...(silentAfterMs === undefined ? {} : { silentAfterMs }) }],
  ])
}
