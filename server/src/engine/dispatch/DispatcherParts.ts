// What the dispatcher is built from, and what it shows of its breakers.
import type { Clock, Effect, Exit } from "effect"
import type { Postponement, StorableDelivery } from "../../domain/Delivery.ts"
import type { Deliverer, Delivery, OngoingAttempt } from "../../ports/Deliverer.ts"
import type { WallClock } from "../../ports/WallClock.ts"
import type { ActivityCounter } from "../activity/ActivityCounter.ts"
import type { EngineMetrics } from "../EngineMetrics.ts"
import type { EventFeed } from "../events/EventFeed.ts"
import type { Entry } from "../window/Entry.ts"
import type { AttemptSpans } from "./AttemptSpans.ts"
import type { DeadNotices } from "./DeadNotices.ts"
import type { DispatcherLimits } from "./DispatcherLimits.ts"
import type { DispatchTerms } from "./DispatchTerms.ts"
import type { Flight } from "./Flight.ts"
import type { NewcomerPace } from "./NewcomerPace.ts"

/** A host that failed too often in a row, for one namespace. */
export interface OpenBreaker {
  readonly host: string
  readonly namespace: string
  readonly failures: number
  /** Due timers in memory that wait for the host. */
  readonly waiting: number
  readonly probeInMs: number
}

export interface DispatcherParts {
  readonly limits: DispatcherLimits
  readonly terms: DispatchTerms
  readonly deliverers: ReadonlyMap<string, Deliverer>
  readonly wall: WallClock["Service"]
  readonly clock: Clock.Clock
  readonly metrics: EngineMetrics
  readonly activity?: Pick<ActivityCounter, "sent">
  /** Present if traces are exported. */
  readonly spans?: AttemptSpans
  /** Told about attempts that start. */
  readonly events?: Pick<EventFeed, "isHeard" | "started">
  /** Runs an attempt; `onExit` is called once, perhaps before this returns. The result interrupts the attempt. */
  readonly run: (
    attempt: Effect.Effect<Delivery> | OngoingAttempt,
    onExit: (exit: Exit.Exit<Delivery>) => void,
  ) => () => void
  /** Calls the task when the thread has done other work that waits. */
  readonly soon: (task: () => void) => void
  /** How fast new namespaces start. Absent: as fast as the limits allow. */
  readonly newcomers?: NewcomerPace
  /** Calls the task after the delay. */
  readonly after: (delayMs: number, task: () => void) => void
  /** The attempt ended. Must call `onStored` when the outcome is stored or cannot be stored any more. */
  readonly settle: (flight: Flight, delivery: StorableDelivery, onStored: () => void) => void
  /** The timer fires later, without an attempt now. Must call `onStored` as `settle` does. */
  readonly postpone: (entry: Entry, postponement: Postponement, onStored: () => void) => void
  /** The egress rules refused a host that they did not refuse before. `nowMs` is monotonic. */
  readonly onRefused: (host: string, detail: string, nowMs: number) => void
  /** Runs the attempt of a `_dead` timer only if its timer is dead. */
  readonly confirmed: DeadNotices["confirmed"]
  /** The timer expired before an attempt could start. */
  readonly expire: (entry: Entry, onStored: () => void) => void
}
