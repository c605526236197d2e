// One delivery of one message, as an adapter hands it to the intake that all of them share: the bytes, and
// what can be said to the broker about them.

import type { Effect } from "effect"
import type { BusError } from "./Bus.ts"
import type { UndeliverableFacts } from "./Undeliverable.ts"

export interface Incoming {
  readonly bytes: Uint8Array
  /** The first is 1. */
  readonly delivery: number
  /** Whom the broker's own address of the message belongs to: it is believed before what the message says. */
  readonly addressedTenant: string | undefined
  /** Names the message among those of this subscription, the same on every delivery of it. */
  readonly messageKey: string
  /** Of a message that is sent again to one group: which. */
  readonly onlyGroup?: string | undefined
  /** It is done. The broker may lose this: then the message comes again. */
  acknowledge(): void
  /** It shall come again after the delay, by the broker's own timing. At a broker that cannot delay it is always 0. */
  redeliverIn(delayMs: number): void
  /** The broker shall wait for as long again. */
  keepWaiting(): void
  /** Resolves when the message is stored as undeliverable. */
  setAside(tenant: string, facts: UndeliverableFacts): Effect.Effect<void, BusError>
}
