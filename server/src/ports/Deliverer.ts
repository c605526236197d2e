// How a due timer reaches its target. A deliverer never fails for what the far side did: that is a
// delivery like any other, and what follows from it is decided in domain/settle.ts.
import { Context, type Effect } from "effect"
import type { Delivery } from "../domain/Delivery.ts"
import type { Death, Target } from "../domain/Timer.ts"
import type { Waiting } from "../domain/Waiting.ts"

export type { Attempted, Delivery, NextTime } from "../domain/Delivery.ts"

/** One attempt, as the target sees it. */
export interface Fire {
  readonly namespace: string
  readonly timerId: string
  readonly fireId: string
  readonly attempt: number
  /** How many attempts the retry policy allows. */
  readonly maxAttempts: number
  readonly epoch: number
  readonly revision: number
  readonly executeAt: number
  readonly firedAt: number
  readonly correlationId: string
  readonly tags?: ReadonlyArray<string>
  /** The trace that the attempt continues; absent, the arming is a trace of its own. */
  readonly traceparent?: string
  /** The attempt tells of this death. */
  readonly death?: Death
  readonly target: Target
  readonly payload: Uint8Array | undefined
}

export interface Deliverer {
  /** Bounds its own time; interruption abandons the attempt. */
  deliver(fire: Fire): Effect.Effect<Delivery>
  /** What bounds in flight and breakers are counted by, beside the namespace. */
  hostOf(target: Target): string
  /** Where nothing can be delivered for a namespace for now: its timers wait for that, and no attempt is counted. */
  readonly presence?: Presence
}

export interface Presence {
  isThere(namespace: string): boolean
  /** What timers wait for while it is not there, for people who ask. */
  readonly absence: Pick<Waiting, "reason" | "detail">
  /** The listener is told when it may have changed for any of them. */
  onArrival(listener: () => void): void
}

/** The deliverers of this process by target type: a type without one is refused at the contract. */
export class Deliverers extends Context.Service<
  Deliverers,
  { readonly byType: ReadonlyMap<Target["type"], Deliverer> }
>()("punctual/ports/Deliverers") {}
