// The health of the engine and its current measurements, for health checks and scrapes.
import { type Clock, Effect } from "effect"
import { pendingOf } from "../domain/Decision.ts"
import type { TimerStore } from "../ports/TimerStore.ts"
import type { WallClock } from "../ports/WallClock.ts"
import type { Dispatcher } from "./dispatch/Dispatcher.ts"
import type { EngineMetrics } from "./EngineMetrics.ts"
import type { NamespaceDirectory } from "./namespaces/NamespaceDirectory.ts"
import type { Ownership } from "./ownership/Ownership.ts"
import type { SetAside } from "./window/SetAside.ts"
import type { ShardLoop } from "./window/ShardLoop.ts"
import type { Window } from "./window/Window.ts"
import type { WriteQueue } from "./writing/WriteQueue.ts"

export interface EngineHealthParts {
  readonly clock: Clock.Clock
  readonly wall: WallClock["Service"]
  readonly store: Pick<TimerStore["Service"], "tally">
  readonly queue: WriteQueue
  readonly dispatcher: Dispatcher
  readonly ownership: Ownership
  readonly directory: NamespaceDirectory["Service"]
  readonly setAside: SetAside
  readonly metrics: EngineMetrics
  readonly isDraining: () => boolean
}

/** A loop without progress for this long counts as stalled. */
const stalledAfterMs = 10_000

export class EngineHealth {
  readonly #parts: EngineHealthParts

  constructor(parts: EngineHealthParts) {
    this.#parts = parts
  }

  /** The names of loops that made no progress for too long. Empty on a healthy node. */
  get stalledLoops(): ReadonlyArray<string> {
    return Object.entries(this.#loopAgesMs()).flatMap(([loop, age]) => (age > stalledAfterMs ? [loop] : []))
  }

  /** Updates all gauges. */
  get sample(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#sampleDispatch()
      this.#sampleWindows()
      this.#sampleSettings()
      this.#sampleLoops()
      return this.#samplePending
    })
  }

  #loopAgesMs() {
    const { ownership, queue, isDraining } = this.#parts
    const loops = ownership.loops()
    const oldest = (progress: (loop: ShardLoop) => bigint) =>
      Math.max(0, ...loops.map((loop) => this.#ageMs(progress(loop))))
    const stuckSince = queue.stuckSinceNanos
    return {
      firing: oldest((loop) => loop.firingProgressNanos),
      reading: oldest((loop) => loop.readingProgressNanos),
      ownership: isDraining() ? 0 : this.#ageMs(ownership.progressNanos),
      committing: stuckSince === undefined ? 0 : this.#ageMs(stuckSince),
    }
  }

  #ageMs(sinceNanos: bigint): number {
    return Number(this.#parts.clock.monotonicTimeNanosUnsafe() - sinceNanos) / 1e6
  }

  #sampleDispatch(): void {
    const { dispatcher, metrics } = this.#parts
    metrics.gauge("inFlight", dispatcher.inFlight)
    metrics.gauge("slowInFlight", dispatcher.slowInFlight)
    metrics.gauge("ready", dispatcher.readyCount)
    metrics.gauge("openBreakers", dispatcher.openBreakers)
    const { hosts, timers } = dispatcher.refused.counts
    metrics.gauge("egressRefusedHosts", hosts)
    metrics.gauge("egressRefusedTimers", timers)
  }

  #sampleWindows(): void {
    const { ownership, wall, metrics } = this.#parts
    const now = wall.now()
    const windows = ownership.loops().map(({ window }) => window)
    const sum = (of: (window: Window) => number) => windows.reduce((total, window) => total + of(window), 0)
    const oldestDue = Math.min(now, ...windows.map((window) => window.oldestDue(now) ?? now))
    const timers = sum((window) => window.size)
    const bytes = sum((window) => window.bytes)
    const congested = sum((window) => window.excludedNamespaces.length)
    metrics.gauge("oldestDueAgeSeconds", (now - oldestDue) / 1_000)
    metrics.gauge("windowTimers", timers)
    metrics.gauge("windowBytes", bytes)
    metrics.gauge("congestedNamespaces", congested)
    metrics.gauge("ownedShards", ownership.ownedCount)
  }

  #sampleSettings(): void {
    const { directory, setAside, metrics } = this.#parts
    const { paused, sealed, unreadable } = directory.counts()
    metrics.gauge("pausedNamespaces", paused)
    metrics.gauge("servicePaused", directory.service().pause === undefined ? 0 : 1)
    metrics.gauge("sealedNamespaces", sealed)
    metrics.unreadable("settings", unreadable)
    metrics.unreadable("timers", setAside.counts.timers)
    metrics.unreadable("lives", setAside.counts.lives)
  }

  #sampleLoops(): void {
    const { firing, reading, ownership, committing } = this.#loopAgesMs()
    const { metrics } = this.#parts
    metrics.loopAge("firing", firing / 1_000)
    metrics.loopAge("reading", reading / 1_000)
    metrics.loopAge("ownership", ownership / 1_000)
    metrics.loopAge("committing", committing / 1_000)
  }

  get #samplePending(): Effect.Effect<void> {
    const { store, metrics } = this.#parts
    return store.tally.pipe(
      Effect.map((tally) => metrics.gauge("pending", pendingOf(tally))),
      Effect.catch((error) => Effect.logWarning(`pending timers could not be counted: ${error.message}`)),
    )
  }
}
