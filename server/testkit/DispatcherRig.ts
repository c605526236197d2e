// A dispatcher that the test controls. The test ends the attempts and moves the time. The rig records every attempt
// that the dispatcher starts, with the limits at that moment. Entries come from a real window, so holds and withdrawals
// are real.
import { Clock, Effect, Exit, Metric } from "effect"
import type { PastPause } from "../src/domain/NamespaceSettings.ts"
import type { Timer } from "../src/domain/Timer.ts"
import { Dispatcher } from "../src/engine/dispatch/Dispatcher.ts"
import type { DispatcherLimits } from "../src/engine/dispatch/DispatcherLimits.ts"
import { NewcomerPace } from "../src/engine/dispatch/NewcomerPace.ts"
import { EngineMetrics } from "../src/engine/EngineMetrics.ts"
import type { Entry, Home } from "../src/engine/window/Entry.ts"
import { Window } from "../src/engine/window/Window.ts"
import type { Deliverer, Delivery, Fire } from "../src/ports/Deliverer.ts"
import { sampleNow, sampleSpec, sampleTimer } from "./timers.ts"

export interface Running {
  readonly namespace: string
  readonly host: string
  readonly timerId: string
  readonly attempt: number
  readonly end: (delivery: Delivery) => void
}

export const rigLimits: DispatcherLimits = {
  inFlight: 8,
  slow: 0,
  trial: 0,
  inFlightPerNamespace: 4,
  inFlightPerHost: 2,
  unsettled: 12,
  freshNew: 1_000_000,
  breaker: { failures: 1_000_000, firstPauseMs: 1_000, longestPauseMs: 8_000 },
}

export class DispatcherRig {
  readonly dispatcher: Dispatcher
  readonly window: Window
  readonly home: Home
  readonly running = new Set<Running>()
  /** Only if the test asks for it: most tests start all their timers in one instant. */
  readonly newcomers: NewcomerPace | undefined
  /** Timer ids in the order in which their attempts started. */
  readonly started: Array<string> = []
  /** Timer ids in the order in which the dispatcher abandoned their attempts. */
  readonly abandoned: Array<string> = []
  /** Changes in the queue. Each one holds its key back. */
  readonly #changes: Array<{ readonly timerId: string }> = []
  /** Timers that are due and not started yet. */
  readonly waiting = new Map<string, Timer>()
  readonly #inFlight = new Map<string, Timer>()
  /** Timers that were postponed, and by how much. */
  readonly postponed: Array<readonly [timerId: string, inMs: number]> = []
  /** Hosts that the egress rules refused for the first time. */
  readonly refusedHosts: Array<string> = []
  /** Outcomes that are not stored yet. */
  readonly unstored: Array<() => void> = []
  /** What operators have set. Zero is a pause. */
  readonly mostInFlight = new Map<string, number>()
  pauses: ReadonlyArray<PastPause> = []
  nowMs = sampleNow
  /** The timeout of the targets that are submitted next. */
  timeoutMs = 15_000
  /** The payload of the timers that are submitted next. */
  payload: Uint8Array | undefined
  isTrusted = true
  /** Whether the attempts that start next send their request. Otherwise they end before that. */
  sends = true
  storesAtOnce = true
  /** Keeps what the dispatcher wants to do soon. Otherwise it happens at once. */
  holdsSoon = false
  readonly soon: Array<() => void> = []
  /** What the dispatcher wants to do after a delay. */
  readonly later: Array<readonly [delayMs: number, task: () => void]> = []
  #submitted = 0
  #lastFire: Fire | undefined

  constructor(limits: Partial<DispatcherLimits> = {}, silentAfterMs?: number, hasNewcomerPace = false) {
    const home: Home = {
      shard: 0,
      epoch: 1,
      mayStart: () => this.isTrusted,
      readAgain: () => {},
      // Window and dispatcher refer to each other. The window is set below.
      window: undefined as unknown as Window,
    }
    this.window = new Window(
      home,
      { timers: 1e9, bytes: 1e15, page: 1e9, lookAheadMs: 1e12 },
      {
        withdraw: (entry) => this.dispatcher.withdraw(entry),
        wake: () => {},
        isKnown: (namespace) => this.dispatcher.knows(namespace),
      },
    )
    Object.assign(home, { window: this.window })
    this.newcomers = hasNewcomerPace ? new NewcomerPace(() => this.nowMs) : undefined
    this.home = home
    this.#openHorizon()
    const deliverer: Deliverer = {
      deliver: (fire, onSent) => {
        this.#lastFire = fire
        if (this.sends) onSent?.()
        return Effect.never
      },
      hostOf: (target) => ("url" in target ? new URL(target.url).host : target.type),
      ...(silentAfterMs === undefined ? {} : { silentAfterMs }),
    }
    this.dispatcher = new Dispatcher({
      confirmed: (_, attempt) => attempt,
      limits: { ...rigLimits, ...limits },
      terms: {
        mostInFlight: (namespace) => this.mostInFlight.get(namespace) ?? Number.POSITIVE_INFINITY,
        pausesOf: () => this.pauses,
      },
      deliverers: new Map([["webhook", deliverer]]),
      wall: { now: () => this.nowMs },
      clock: this.#clock(),
      metrics: Effect.runSync(Effect.provideService(EngineMetrics.make, Metric.MetricRegistry, new Map())),
      run: (_, onExit) => this.#run(onExit),
      after: (delayMs, task) => this.later.push([delayMs, task]),
      ...(this.newcomers === undefined ? {} : { newcomers: this.newcomers }),
      soon: (task) => (this.holdsSoon ? this.soon.push(task) : task()),
      settle: ({ entry }, delivery, onStored) => {
        if (delivery.kind === "postponed") this.postponed.push([entry.timer.timerId, delivery.inMs])
        this.#store(entry, onStored)
      },
      postpone: (entry, { inMs }, onStored) => {
        this.postponed.push([entry.timer.timerId, inMs])
        this.#store(entry, onStored)
      },
      onRefused: (host) => this.refusedHosts.push(host),
      expire: (entry, onStored) => {
        this.waiting.delete(entry.timer.timerId)
        this.#store(entry, onStored)
      },
    })
  }

  /** Submits timers that are due now, in the given order. */
  submit(
    namespace: string,
    host: string,
    count: number,
    agesMs: ReadonlyArray<number> = [],
    spec: Partial<Timer["spec"]> = {},
  ): void {
    for (let index = 0; index < count; index++) {
      const timer = sampleTimer({
        namespace,
        timerId: `${namespace}-${host}-${this.#submitted++}`,
        executeAt: this.nowMs - (agesMs[index] ?? 0),
        ...(this.payload === undefined ? {} : { payload: this.payload }),
        spec: {
          ...sampleSpec,
          ...spec,
          target: {
            ...sampleSpec.target,
            url: `http://${host}.test/`,
            timeoutMs: this.timeoutMs,
          } as Timer["spec"]["target"],
        },
      })
      this.waiting.set(timer.timerId, timer)
      this.window.offer(timer)
    }
    this.pump()
  }

  /** Does what the firing loop does when it wakes up. */
  pump(): void {
    this.dispatcher.submit(this.window.takeDue(this.nowMs, Number.MAX_SAFE_INTEGER))
    this.dispatcher.pump()
  }

  /** Cancels a timer that waits. */
  withdraw(timerId: string): void {
    const timer = this.waiting.get(timerId)
    if (timer === undefined) return
    this.waiting.delete(timerId)
    this.window.forget(timer.uuid)
    this.pump()
  }

  /** Cancels a timer whose attempt is running. */
  cancelInFlight(timerId: string): void {
    const timer = this.#inFlight.get(timerId)
    if (timer !== undefined) this.window.forget(timer.uuid)
  }

  /** Queues a change of a timer that waits. The change is refused later. */
  hold(timerId: string): void {
    const timer = this.waiting.get(timerId)
    if (timer === undefined) return
    const change = { timerId }
    this.#changes.push(change)
    this.window.expectAnswer(change, timer.uuid, true)
  }

  unhold(timerId: string): void {
    const timer = this.waiting.get(timerId)
    const change = this.#changes.find((queued) => queued.timerId === timerId)
    if (timer === undefined || change === undefined) return
    this.#changes.splice(this.#changes.indexOf(change), 1)
    this.window.noteAnswer(change, timer.uuid)
    this.pump()
  }

  isHeld(timerId: string): boolean {
    const timer = this.waiting.get(timerId)
    return timer !== undefined && this.window.isHeld(timer.uuid)
  }

  inFlightOf(namespace: string, host?: string): number {
    return [...this.running].filter(
      (running) => running.namespace === namespace && (host === undefined || running.host === host),
    ).length
  }

  /** Sets how many attempts may run at once, as an operator does. Zero is a pause. */
  set(namespace: string, mostInFlight: number): void {
    this.mostInFlight.set(namespace, mostInFlight)
    this.dispatcher.noteTerms()
  }

  #run(onExit: (exit: Exit.Exit<Delivery>) => void): () => void {
    const fire = this.#lastFire
    if (fire === undefined || !("url" in fire.target)) throw new Error("nothing was delivered")
    if (
      this.inFlightOf(fire.namespace) >= (this.mostInFlight.get(fire.namespace) ?? Number.POSITIVE_INFINITY)
    ) {
      throw new Error(
        `${fire.timerId} was started though its namespace already runs as many attempts as it may`,
      )
    }
    const running: Running = {
      namespace: fire.namespace,
      host: new URL(fire.target.url).host.replace(".test", ""),
      timerId: fire.timerId,
      attempt: fire.attempt,
      end: (delivery) => {
        this.running.delete(running)
        this.#inFlight.delete(fire.timerId)
        onExit(Exit.succeed(delivery))
      },
    }
    this.running.add(running)
    const timer = this.waiting.get(fire.timerId)
    if (timer !== undefined) this.#inFlight.set(fire.timerId, timer)
    this.waiting.delete(fire.timerId)
    this.started.push(fire.timerId)
    return () => {
      if (!this.running.delete(running)) return
      this.abandoned.push(fire.timerId)
      if (timer !== undefined && this.window.entryOf(timer.uuid) !== undefined) {
        this.waiting.set(fire.timerId, timer)
      }
      onExit(Exit.interrupt())
    }
  }

  #store(entry: Entry, onStored: () => void): void {
    this.window.forget(entry.uuid)
    if (this.storesAtOnce) onStored()
    else this.unstored.push(onStored)
  }

  #openHorizon(): void {
    const load = this.window.beginLoad(this.nowMs)
    if (load !== undefined) this.window.finishLoad(load, { timers: [], isLast: true })
  }

  #clock(): Clock.Clock {
    const live = Effect.runSync(Clock.clockWith(Effect.succeed))
    const clock: Clock.Clock = Object.create(live)
    return Object.assign(clock, {
      monotonicTimeNanosUnsafe: () => BigInt(this.nowMs) * 1_000_000n,
    })
  }
}
