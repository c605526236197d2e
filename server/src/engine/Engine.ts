// The engine put together, and as those around it see it: is it well, what does it measure, how does it
// stop. ARCHITECTURE.md tells the way of one timer through the stages that are wired here.
import { Clock, Context, Effect, Fiber, Layer, Option, Random } from "effect"
import type { Tally } from "../domain/Decision.ts"
import { Alarm } from "../ports/Alarm.ts"
import { Deliverers } from "../ports/Deliverer.ts"
import { Ids } from "../ports/Ids.ts"
import { Peers } from "../ports/Peers.ts"
import { ShardLeases } from "../ports/ShardLeases.ts"
import { TimerStore } from "../ports/TimerStore.ts"
import { ManualClock, WallClock } from "../ports/WallClock.ts"
import { ClockAdvance } from "./clock/ClockAdvance.ts"
import { Dispatcher, type DispatcherLimits, type OpenBreaker } from "./dispatch/Dispatcher.ts"
import { makeDispatchTerms } from "./dispatch/DispatchTerms.ts"
import { Settler } from "./dispatch/Settler.ts"
import { EngineMetrics } from "./EngineMetrics.ts"
import { Forwarder } from "./forwarding/Forwarder.ts"
import { FlightViews } from "./front/FlightViews.ts"
import { withQuotas } from "./front/QuotaGate.ts"
import { makeScheduler, Scheduler } from "./front/Scheduler.ts"
import { makeGuard } from "./Guard.ts"
import { NamespaceDirectory } from "./namespaces/NamespaceDirectory.ts"
import { Quotas } from "./namespaces/Quotas.ts"
import type { ClusterState } from "./ownership/ClusterView.ts"
import { defaultLeaseTimes } from "./ownership/LeaseHolder.ts"
import { Ownership, type OwnershipOptions } from "./ownership/Ownership.ts"
import { SetAside } from "./window/SetAside.ts"
import { ShardLoop } from "./window/ShardLoop.ts"
import type { WindowLimits } from "./window/Window.ts"
import { OwnWrites } from "./writing/OwnWrites.ts"
import { WriteQueue, type WriteQueueLimits } from "./writing/WriteQueue.ts"

export interface EngineOptions {
  readonly ownership: OwnershipOptions
  /** The sweep's period. */
  readonly pollingIntervalMs: number
  /** Bounds over the whole node; owned shards share them. */
  readonly window: WindowLimits
  readonly dispatch: DispatcherLimits
  readonly queue: WriteQueueLimits
  readonly historyRetentionMs: number
  /** A loop broke: the process should end. */
  readonly onBroken?: (message: string) => void
}

export const defaultEngineOptions: EngineOptions = {
  ownership: { node: "local", address: "", ...defaultLeaseTimes },
  pollingIntervalMs: 5_000,
  window: { timers: 200_000, bytes: 256 * 1024 * 1024, page: 500, lookAheadMs: 60_000 },
  dispatch: {
    inFlight: 200,
    inFlightPerNamespace: 100,
    inFlightPerHost: 64,
    unsettled: 4_000,
    breaker: { failures: 10, firstPauseMs: 1_000, longestPauseMs: 60_000 },
  },
  queue: { queuedItems: 50_000, queuedBytes: 64 * 1024 * 1024 },
  historyRetentionMs: 7 * 86_400_000,
}

export interface EngineStatus {
  readonly shards: number
  readonly ownedShards: number
  /** Shards of other nodes that live. */
  readonly shardsElsewhere: number
  /** It owns nothing though something is meant for it, or though it cannot tell who owns the rest. */
  readonly isWaiting: boolean
  readonly isDraining: boolean
  /** Loops that made no progress for too long, by name; empty on a healthy node. */
  readonly stalledLoops: ReadonlyArray<string>
}

/** A loop that has not moved for this long is called stalled. */
const stalledAfterMs = 10_000
const pruneEveryMs = 60_000
const pruneBatch = 500
/** The rest of a million goes with the next of its rounds. */
const prunesAtOnce = 2_000
/** Between batches, so that commits have their turn. */
const prunePauseMs = 20
/** How long a drain waits for outcomes to be stored, and then for shards to be released. */
const settleWithinMs = 5_000

export type EngineNeeds = TimerStore | ShardLeases | NamespaceDirectory | Deliverers | WallClock | Ids

export class Engine extends Context.Service<
  Engine,
  {
    status(): EngineStatus
    /** Brings gauges (pending, in flight, oldest due age …) up to date, for a scrape. */
    readonly sample: Effect.Effect<void>
    /** The cluster as this node sees it. */
    cluster(): ClusterState
    /** Another node released a shard that may be meant for this one. */
    lookNow(): void
    /** Hosts that failed too often in a row, at most so many. */
    breakers(limit: number): ReadonlyArray<OpenBreaker>
    /** Takes a host for well again, in all namespaces: how many breakers were closed. */
    closeBreakers(host: string): number
    /** Moves the clock, where it does not go by itself. */
    readonly clock?: ClockAdvance | undefined
    /**
     * Hands shards over to other nodes, if there are any; else starts no new attempt, lets those in flight finish
     * within the bound, settles, releases.
     */
    drain(withinMs: number): Effect.Effect<void>
  }
>()("punctual/engine/Engine") {
  static layer(
    options: EngineOptions = defaultEngineOptions,
  ): Layer.Layer<Engine | Scheduler, never, EngineNeeds> {
    return Layer.effectContext(make(options))
  }
}

const make = Effect.fnUntraced(function* (given: EngineOptions) {
  const manual = Option.getOrUndefined(yield* Effect.serviceOption(ManualClock))
  const options = manual === undefined ? given : underManualClock(given)
  const bareStore = yield* TimerStore
  const leases = yield* ShardLeases
  const directory = yield* NamespaceDirectory
  const deliverers = yield* Deliverers
  const wall = yield* WallClock
  const alarm = yield* Alarm
  const ids = yield* Ids
  const clock = yield* Clock.clockWith(Effect.succeed)
  const random = yield* Random.Random
  const metrics = yield* EngineMetrics.make
  const context = yield* Effect.context<never>()
  const runFork = Effect.runForkWith(context)
  const peers = yield* Effect.serviceOption(Peers)
  const setAside = new SetAside((effect) => void runFork(effect))
  const store = setAside.watch(bareStore)
  let isDraining = false
  /** A node that hands its shards to others takes writes of each until that one is gone. */
  let takesWrites = true

  const guard = makeGuard(options.onBroken ?? (() => {}))
  const queue = yield* WriteQueue.make(store, options.queue, metrics, guard)
  const terms = makeDispatchTerms(directory, () => ({
    ownedShards: ownership.ownedCount,
    shards: ownership.shards ?? 0,
  }))
  const settler = new Settler({
    queue,
    terms,
    wall,
    ids,
    metrics,
    random: () => random.nextDoubleUnsafe(),
    log: (effect) => runFork(effect),
  })
  const flights = new Set<Fiber.Fiber<unknown>>()
  const dispatcher = new Dispatcher({
    limits: options.dispatch,
    terms,
    deliverers: deliverers.byType,
    wall,
    clock,
    metrics,
    run: (effect, onExit) => {
      const fiber = runFork(effect)
      flights.add(fiber)
      fiber.addObserver((exit) => {
        flights.delete(fiber)
        onExit(exit)
      })
    },
    settle: (flight, delivery, onStored) =>
      settler.settle(flight, delivery, () => {
        onStored()
        advance?.noteStored()
      }),
    expire: (entry, onStored) =>
      settler.expire(entry, () => {
        onStored()
        advance?.noteTurn()
      }),
  })
  for (const { presence } of deliverers.byType.values()) {
    presence?.onArrival(() => dispatcher.noteArrival())
  }
  directory.onChange(() => dispatcher.noteTerms())
  yield* Effect.addFinalizer(() => Fiber.interruptAll([...flights]))

  const share = (): WindowLimits => {
    const { window } = options
    const owners = Math.max(1, ownership.ownedCount)
    return { ...window, timers: Math.floor(window.timers / owners), bytes: Math.floor(window.bytes / owners) }
  }
  const ownership: Ownership = new Ownership(options.ownership, {
    store,
    leases,
    queue,
    clock,
    metrics,
    guard,
    makeLoop: (lease, trustedUntilNanos) =>
      new ShardLoop(lease, trustedUntilNanos, share(), {
        store,
        setAside,
        dispatcher,
        wall,
        alarm,
        clock,
        metrics,
        pollingIntervalMs: options.pollingIntervalMs,
        page: options.window.page,
        onTurn: () => advance?.noteTurn(),
      }),
    onOwnedChanged: () => {
      for (const loop of ownership.loops()) loop.window.resize(share())
    },
    // It looks by itself soon, so a nudge that does not arrive is not repeated.
    onReleased: (to) => (Option.isNone(peers) ? Effect.void : Effect.ignore(peers.value.nudge(to))),
  })
  yield* Effect.addFinalizer(() => ownership.abandonAll)
  const prune = pruneBatchOf(store, wall, options.historyRetentionMs)
  const advance: ClockAdvance | undefined =
    manual === undefined
      ? undefined
      : new ClockAdvance({
          wall,
          manual,
          clock,
          store,
          dispatcher,
          shards: () => ownership.shards,
          loops: () => ownership.loops(),
          isStopping: () => isDraining,
          prune: Effect.repeat(prune, { while: (removed) => removed === pruneBatch, times: prunesAtOnce }),
        })
  const keeping = yield* Effect.forkScoped(guard("ownership", ownership.keepForever))
  yield* Effect.forkScoped(keepHouse(prune, setAside.lookAgain(bareStore)))

  const own = new OwnWrites({ ownership, queue })
  const cluster = Option.isNone(peers) ? undefined : { view: ownership, peers: peers.value }
  const scheduler = makeScheduler({
    store,
    own,
    forwarder:
      cluster === undefined ? undefined : yield* Forwarder.make({ ...cluster, store, own, metrics, guard }),
    flights: new FlightViews({ own, dispatcher, wall, cluster }),
    wall,
    ids,
    metrics,
    isDraining: () => !takesWrites,
  })

  const quotas = new Quotas({ directory, store, clock, nodes: () => ownership.nodes })

  const ageMs = (sinceNanos: bigint) => Number(clock.monotonicTimeNanosUnsafe() - sinceNanos) / 1e6
  const loopAgesMs = () => {
    const loops = ownership.loops()
    const oldest = (progress: (loop: ShardLoop) => bigint) =>
      Math.max(0, ...loops.map((loop) => ageMs(progress(loop))))
    const stuckSince = queue.stuckSinceNanos
    return {
      firing: oldest((loop) => loop.firingProgressNanos),
      reading: oldest((loop) => loop.readingProgressNanos),
      ownership: isDraining ? 0 : ageMs(ownership.progressNanos),
      committing: stuckSince === undefined ? 0 : ageMs(stuckSince),
    }
  }

  const sample = Effect.gen(function* () {
    const now = wall.now()
    const windows = ownership.loops().map(({ window }) => window)
    const sum = (of: (window: (typeof windows)[number]) => number) =>
      windows.reduce((total, window) => total + of(window), 0)
    const oldestDue = Math.min(now, ...windows.map((window) => window.oldestDue(now) ?? now))
    metrics.gauge("inFlight", dispatcher.inFlight)
    metrics.gauge("ready", dispatcher.readyCount)
    metrics.gauge("openBreakers", dispatcher.openBreakers)
    metrics.gauge("oldestDueAgeSeconds", (now - oldestDue) / 1_000)
    metrics.gauge(
      "windowTimers",
      sum((window) => window.size),
    )
    metrics.gauge(
      "windowBytes",
      sum((window) => window.bytes),
    )
    metrics.gauge(
      "congestedNamespaces",
      sum((window) => window.excludedNamespaces.length),
    )
    metrics.gauge("ownedShards", ownership.ownedCount)
    const { paused, sealed, unreadable } = directory.counts()
    metrics.gauge("pausedNamespaces", paused)
    metrics.gauge("servicePaused", directory.service().pause === undefined ? 0 : 1)
    metrics.gauge("sealedNamespaces", sealed)
    metrics.unreadable("settings", unreadable)
    metrics.unreadable("timers", setAside.counts.timers)
    metrics.unreadable("lives", setAside.counts.lives)
    for (const [loop, age] of Object.entries(loopAgesMs())) {
      metrics.loopAge(loop as keyof ReturnType<typeof loopAgesMs>, age / 1_000)
    }
    yield* store.tally.pipe(
      Effect.map((tally) => metrics.gauge("pending", pendingOf(tally))),
      Effect.catch((error) => Effect.logWarning(`pending timers could not be counted: ${error.message}`)),
    )
  })

  const drain = Effect.fnUntraced(function* (withinMs: number) {
    const startedNanos = clock.monotonicTimeNanosUnsafe()
    isDraining = true
    if (ownership.hasTakers) yield* ownership.leave(withinMs)
    takesWrites = false
    dispatcher.stop()
    // Attempts whose shard is another's by now have nowhere to be settled.
    yield* Effect.sleep(20).pipe(
      Effect.repeat({ while: () => dispatcher.inFlight > 0 && ownership.ownedCount > 0 }),
      Effect.timeoutOption(Math.max(0, withinMs - ageMs(startedNanos))),
    )
    yield* Effect.timeoutOption(queue.awaitIdle, settleWithinMs)
    yield* Fiber.interrupt(keeping)
    yield* ownership.releaseAll(settleWithinMs)
  })

  const engine = Engine.of({
    status: () => ({
      shards: ownership.shards ?? 0,
      ownedShards: ownership.ownedCount,
      shardsElsewhere: ownership.ownedElsewhere,
      isWaiting: !isDraining && ownership.isWaiting,
      isDraining,
      stalledLoops: Object.entries(loopAgesMs()).flatMap(([loop, age]) =>
        age > stalledAfterMs ? [loop] : [],
      ),
    }),
    sample,
    cluster: () => ownership.state(wall.now()),
    lookNow: () => ownership.lookNow(),
    breakers: (limit) => dispatcher.breakers(limit),
    closeBreakers: (host) => dispatcher.closeBreakers(host),
    clock: advance,
    drain,
  })
  return Context.make(Engine, engine).pipe(Context.add(Scheduler, withQuotas(scheduler, quotas)))
})

const pendingOf = (tally: Tally): number =>
  tally.created +
  tally.rearmed +
  tally.replayed -
  (tally.delivered + tally.cancelled + tally.replaced + tally.dead + tally.discarded)

/**
 * A clock that is moved comes to far instants at once, so the window looks as far as timers may lie. And a host that is
 * down must not hold the clock up: breakers wait in real time, and stay closed.
 */
const underManualClock = (options: EngineOptions): EngineOptions => ({
  ...options,
  window: { ...options.window, lookAheadMs: 20 * 366 * 86_400_000 },
  dispatch: {
    ...options.dispatch,
    breaker: { ...options.dispatch.breaker, failures: Number.POSITIVE_INFINITY },
  },
})

/** How many went. History past its retention goes in small batches, so that no commit waits long for it. */
const pruneBatchOf = (
  store: TimerStore["Service"],
  wall: WallClock["Service"],
  retentionMs: number,
): Effect.Effect<number> =>
  Effect.suspend(() => store.prune(wall.now() - retentionMs, pruneBatch)).pipe(
    Effect.catch((error) => Effect.as(Effect.logWarning(`history was not pruned: ${error.message}`), 0)),
  )

/** Prunes history, and between the rounds looks again at rows that were set aside. */
const keepHouse = (prune: Effect.Effect<number>, lookAgain: Effect.Effect<void>): Effect.Effect<never> =>
  Effect.gen(function* () {
    for (;;) {
      const removed = yield* prune
      if (removed < pruneBatch) yield* lookAgain
      yield* Effect.sleep(removed < pruneBatch ? pruneEveryMs : prunePauseMs)
    }
  })
