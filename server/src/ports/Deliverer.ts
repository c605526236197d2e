// Delivers a due timer to its target. A deliverer never fails because of what the target did: that is a delivery like
// any other, and domain/settle.ts decides what follows.

import type { EgressGate } from "@punctual/egress/EgressGate"
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
  /** The span of the attempt itself; absent if this process exports no traces. */
  readonly ownTraceparent?: string
  /** The dead timer that this call reports. */
  readonly death?: Death
  readonly target: Target
  readonly payload: Uint8Array | undefined
}

export interface Deliverer {
  /**
   * The deliverer limits its own time. An interruption abandons the attempt. The deliverer calls `onSent` when it hands the
   * request over. Lateness counts up to this moment. If the deliverer does not call it, the attempt sent nothing.
   */
  deliver(fire: Fire, onSent?: () => void): Effect.Effect<Delivery>
  /**
   * The same, but the attempt begins within this call. For attempts that need no fiber: an exit, if the attempt ended
   * within this call, or an ongoing attempt. If it is another effect, the caller must run it once, at once.
   */
  begin?(fire: Fire, onSent: () => void): Effect.Effect<Delivery> | OngoingAttempt
  /** The host by which, together with the namespace, in-flight limits and breakers are counted. */
  hostOf(target: Target): string
  /**
   * An attempt without an answer for this long is silent, so it moves to a slow slot. Absent: its attempts never count as
   * silent.
   */
  readonly silentAfterMs?: number
  /** Reports namespaces for which nothing can be delivered now. Their timers wait, and no attempt is counted. */
  readonly presence?: Presence
  /** The rules about the addresses of targets, if there are any. */
  readonly gate?: EgressGate
}

/** An attempt that has begun and runs by itself. */
export interface OngoingAttempt {
  /** Calls the listener once, when the attempt has ended, or at once if it has. There is one listener. */
  onEnd(listener: (delivery: Delivery) => void): void
  /** Ends the attempt. The listener is not called any more. */
  abandon(): void
}

export const isOngoing = (attempt: Effect.Effect<Delivery> | OngoingAttempt): attempt is OngoingAttempt =>
  "onEnd" in attempt

export interface Presence {
  isThere(namespace: string): boolean
  /** Tells users what timers wait for while the destination is absent. */
  readonly absence: Pick<Waiting, "reason" | "detail">
  /** Calls the listener when the presence of any namespace may have changed. */
  onArrival(listener: () => void): void
}

/** The deliverers of this process by target type. The contract refuses a type without a deliverer. */
export class Deliverers extends Context.Service<
  Deliverers,
  { readonly byType: ReadonlyMap<Target["type"], Deliverer> }
>()("punctual/ports/Deliverers") {}
