// One delivery of one message, as an adapter passes it to the shared intake: the bytes, and the answers that the intake
// can give to the broker.

import type { Effect } from "effect"
import type { BusError } from "./Bus.ts"
import type { UndeliverableFacts } from "./Undeliverable.ts"

export interface Incoming {
  readonly bytes: Uint8Array
  /** The first is 1. */
  readonly delivery: number
  /** The tenant in the broker's own address of the message. The bus trusts it more than the tenant in the message. */
  readonly addressedTenant: string | undefined
  /** Identifies the message within this subscription. It is the same on every delivery of the message. */
  readonly messageKey: string
  /** The group that a replayed message is for. Absent if the message is for all groups. */
  readonly onlyGroup?: string | undefined
  /** The message is handled. If this answer is lost, the broker delivers the message again. */
  acknowledge(): void
  /** Asks the broker to deliver the message again after the delay. The delay is always 0 if the broker cannot delay. */
  redeliverIn(delayMs: number): void
  /** Asks the broker to restart its wait for an answer. */
  keepWaiting(): void
  /** Resolves when the message is stored as undeliverable. */
  setAside(tenant: string, facts: UndeliverableFacts): Effect.Effect<void, BusError>
}
