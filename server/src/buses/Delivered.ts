// One delivery of one message, as an adapter hands it to the intake that all of them share: the bytes, and
// what can be said to the broker about them.
import type { DeadLetterFacts } from "@punctual/api/DeadLetter"
import type { Effect } from "effect"
import type { BusError } from "../ports/Bus.ts"

export interface Delivered {
  readonly bytes: Uint8Array
  /** The first is 1. */
  readonly delivery: number
  /** Whom the broker's own address of the message belongs to: it is believed before what the message says. */
  readonly addressedTenant: string | undefined
  /** Names the message among those of this subscription, the same on every delivery of it. */
  readonly messageKey: string
  /** It is done. The broker may lose this: then the message comes again. */
  acknowledge(): void
  /** It shall come again after the delay, by the broker's own timing. */
  redeliverIn(delayMs: number): void
  /** The broker shall wait for as long again. */
  keepWaiting(): void
  /** Resolves when the dead letter is stored at the broker. */
  bury(tenant: string, facts: DeadLetterFacts): Effect.Effect<void, BusError>
}
