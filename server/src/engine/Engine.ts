// Assembles the engine, and defines what the rest of the service sees of it: its health, its metrics and its stop.
// ARCHITECTURE.md describes how one timer passes through the stages that are wired here.
import { restBetweenSlices } from "@punctual/api/nextTurn"
import { Tracing } from "@punctual/telemetry/Tracing"
import { Clock, Context, Effect, type Fiber, Layer, Option, Random } from "effect"
import type { PutAnswer } from "../domain/WriteItem.ts"
import { Alarm, type AlarmService } from "../ports/Alarm.ts"
import { CensusCounts } from "../ports/CensusCounts.ts"
import { Deliverers } from "../ports/Deliverer.ts"
import { Ids } from "../ports/Ids.ts"
import { Peers } from "../ports/Peers.ts"
import { ShardLeases } from "../ports/ShardLeases.ts"
import { TimerStore } from "../ports/TimerStore.ts"
import { ManualClock, WallClock } from "../ports/WallClock.ts"
import { ActivityCounter } from "./activity/ActivityCounter.ts"
import { Census, type CensusLimits } from "./census/Census.ts"
import { ClockAdvance } from "./clock/ClockAdvance.ts"
import { AttemptSpans } from "./dispatch/AttemptSpans.ts"
import { DeadNotices, type DeadNoticesParts } from "./dispatch/DeadNotices.ts"
import { Dispatcher } from "./dispatch/Dispatcher.ts"
import type { DispatcherLimits } from "./dispatch/DispatcherLimits.ts"
import type { OpenBreaker } from "./dispatch/DispatcherParts.ts"
import { type DispatchTerms, makeDispatchTerms } from "./dispatch/DispatchTerms.ts"
import { lateFromMs, NewcomerPace } from "./dispatch/NewcomerPace.ts"
import { RefusalWarnings } from "./dispatch/RefusalWarnings.ts"
import { RunningAttempts } from "./dispatch/RunningAttempts.ts"
import { Settler } from "./dispatch/Settler.ts"
import { drain, type StopState } from "./drain.ts"
import { EngineHealth } from "./EngineHealth.ts"
import { EngineMetrics } from "./EngineMetrics.ts"
import { EventFeed } from "./events/EventFeed.ts"
import { Forwarder } from "./forwarding/Forwarder.ts"
import { CallerWrites } from "./front/CallerWrites.ts"
import { FlightViews } from "./front/FlightViews.ts"
import { Histograms } from "./front/Histograms.ts"
import { withQuotas } from "./front/QuotaGate.ts"
import { NoOwner } from "./front/RefusedWrite.ts"
import { makeScheduler, Scheduler } from "./front/Scheduler.ts"
import { WaitingReasons } from "./front/WaitingReasons.ts"
import { type Guard, makeGuard } from "./Guard.ts"
import { keepHouse, pruneAll, pruneBatchOf } from "./housekeeping.ts"
import { NamespaceDirectory } from "./namespaces/NamespaceDirectory.ts"
import { Quotas } from "./namespaces/Quotas.ts"
import type { ClusterState } from "./ownership/ClusterView.ts"
import { defaultLeaseTimes } from "./ownership/LeaseHolder.ts"
import { Ownership, type OwnershipOptions, type WaitsFor } from "./ownership/Ownership.ts"
import { underManualClock } from "./underManualClock.ts"
import { DuePace } from "./window/DuePace.ts"
import { SetAside } from "./window/SetAside.ts"
import { ShardLoop } from "./window/ShardLoop.ts"
import { SweepPace } from "./window/SweepPace.ts"
import type { WindowLimits } from "./window/Window.ts"
import { OwnWrites } from "./writing/OwnWrites.ts"
import { WriteQueue, type WriteQueueLimits } from "./writing/WriteQueue.ts"

export interface EngineOptions {
  readonly ownership: OwnershipOptions
  /** The time between two sweeps. */
  readonly pollingIntervalMs: number
  /** Limits for the whole node. Owned shards share them. */
  readonly window: WindowLimits
  readonly dispatch: DispatcherLimits
  readonly queue: WriteQueueLimits
  readonly historyRetentionMs: number
  /** How many pending timers a namespace may have that has no limit of its own. Without it there is no limit. */
  readonly maxPendingByDefault?: number
  /** Absent: pending timers are not counted in the background. */
  readonly census?: CensusLimits
  /** A loop has broken, so the process should end. */
  readonly onBroken?: (message: string) => void
}

export const defaultEngineOptions: EngineOptions = {
  ownership: { node: "local", address: "", ...defaultLeaseTimes },
  pollingIntervalMs: 5_000,
  window: { timers: 200_000, bytes: 256 * 1024 * 1024, page: 500, lookAheadMs: 60_000 },
  dispatch: {
    inFlight: 200,
    slow: 40,
    // With these the attempts are as many as the requests that the runtime makes at once, unless it is told otherwise.
    trial: 16,
    inFlightPerNamespace: 100,
    inFlightPerHost: 64,
    unsettled: 4_000,
    freshNew: 50,
    breaker: { failures: 10, firstPauseMs: 1_000, longestPauseMs: 60_000 },
  },
  queue: { queuedItems: 50_000, queuedBytes: 64 * 1024 * 1024, waitMs: 5 },
  historyRetentionMs: 7 * 86_400_000,
}

export interface EngineStatus {
  readonly shards: number
  readonly ownedShards: number
  /** Shards that other live nodes own. */
  readonly shardsElsewhere: number
  /** The node owns no shard although some are assigned to it, or although it does not know who owns the rest. */
  readonly isWaiting: boolean
  /** Present if the node waits. */
  readonly waitsFor?: WaitsFor | undefined
  readonly isDraining: boolean
  /** All firing is paused. */
  readonly isPaused: boolean
  /** The names of loops that made no progress for too long. Empty on a healthy node. */
  readonly stalledLoops: ReadonlyArray<string>
}

export type EngineNeeds = TimerStore | ShardLeases | NamespaceDirectory | Deliverers | WallClock | Ids

export class Engine extends Context.Service<
  Engine,
  {
    status(): EngineStatus
    /** Updates the gauges (pending, in flight, oldest due age …) for a scrape. */
    readonly sample: Effect.Effect<void>
    /** The cluster as this node sees it. */
    cluster(): ClusterState
    /** Whether this node fires the shard now, and is not about to stop. */
    owns(shard: number): boolean
    /** Another node released a shard that may be assigned to this one. */
    lookNow(): void
    /** Hosts that failed too often in a row, at most `limit` of them. */
    breakers(limit: number): ReadonlyArray<OpenBreaker>
    /** Treats a host as healthy again in all namespaces, and returns how many breakers were closed. */
    closeBreakers(host: string): number
    /** Moves the clock; only present with a manual clock. */
    readonly clock?: ClockAdvance | undefined
    /** What happens to the timers that this node owns. */
    readonly events: EventFeed
    /** How much happens to them. */
    readonly activity: ActivityCounter
    /**
     * Hands shards over to other nodes if there are any. Otherwise the engine starts no new attempt, lets running
     * attempts finish within the bound, stores their outcomes and releases its shards.
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

/** The parts that the stages are built from. */
interface Parts {
  readonly options: EngineOptions
  readonly manual: ManualClock["Service"] | undefined
  /** The store without the wrapper that detects unreadable rows. */
  readonly bareStore: TimerStore["Service"]
  readonly store: TimerStore["Service"]
  readonly setAside: SetAside
  readonly leases: ShardLeases["Service"]
  readonly directory: NamespaceDirectory["Service"]
  readonly deliverers: Deliverers["Service"]
  readonly peers: Peers["Service"] | undefined
  readonly censusCounts: CensusCounts["Service"] | undefined
  readonly wall: WallClock["Service"]
  readonly alarm: AlarmService
  readonly ids: Ids["Service"]
  readonly clock: Clock.Clock
  readonly random: () => number
  readonly metrics: EngineMetrics
  readonly events: EventFeed
  readonly activity: ActivityCounter
  readonly guard: Guard
  readonly queue: WriteQueue
  readonly monotonicMs: () => number
  readonly newcomers?: NewcomerPace
  readonly spans?: AttemptSpans
  readonly runFork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
}

/** Parts with the census, which is absent if it is off. */
type Counting<Of> = Of & { readonly census: Census | undefined }

/** Events that a manual clock must know about. On other clocks nobody listens. */
interface Notes {
  /** An outcome was stored. */
  stored(): void
  /** A loop, or an expired timer, has come to rest. */
  turn(): void
}

const make = Effect.fnUntraced(function* (given: EngineOptions) {
  const parts = yield* gather(given)
  const { options, store, bareStore, wall, directory, setAside, guard } = parts
  const state: StopState = { isDraining: false, takesWrites: true }
  let advance: ClockAdvance | undefined
  const notes: Notes = { stored: () => advance?.noteStored(), turn: () => advance?.noteTurn() }
  const terms = makeDispatchTerms(directory, () => ({
    ownedShards: ownership.ownedCount,
    shards: ownership.shards ?? 0,
  }))
  let putNotice: DeadNoticesParts["write"] | undefined
  const notices = new DeadNotices({
    ...parts,
    write: (put, onAnswer) => (putNotice === undefined ? onAnswer(notReady()) : putNotice(put, onAnswer)),
  })
  const dispatcher = yield* makeDispatcher(parts, terms, notices, notes)
  const census =
    options.census && new Census({ ...parts, limits: options.census, held: () => ownership.loops() })
  const ownership: Ownership = yield* makeOwnership({ ...parts, census }, dispatcher, notes)
  const prune = pruneBatchOf(store, wall, options.historyRetentionMs)
  advance = makeAdvance(parts, dispatcher, ownership, state, prune)
  const keeping = yield* Effect.forkScoped(guard("ownership", ownership.keepForever))
  yield* Effect.forkScoped(keepHouse(prune, setAside.lookAgain(bareStore)))
  if (census !== undefined) yield* Effect.forkScoped(census.keepForever)
  const { scheduler, writes } = yield* makeFront({ ...parts, census }, dispatcher, ownership, state)
  putNotice = (put, onAnswer) => writes.begin<PutAnswer>(put, onAnswer)
  const health = new EngineHealth({ ...parts, dispatcher, ownership, isDraining: () => state.isDraining })
  const engine = Engine.of({
    status: () => ({
      shards: ownership.shards ?? 0,
      ownedShards: ownership.ownedCount,
      shardsElsewhere: ownership.ownedElsewhere,
      isWaiting: !state.isDraining && ownership.isWaiting,
      waitsFor: state.isDraining ? undefined : ownership.waitsFor,
      isDraining: state.isDraining,
      isPaused: directory.service().pause !== undefined,
      stalledLoops: health.stalledLoops,
    }),
    sample: health.sample,
    cluster: () => ownership.state(wall.now()),
    owns: (shard) => !state.isDraining && ownership.loopOf(shard) !== undefined,
    lookNow: () => ownership.lookNow(),
    breakers: (limit) => dispatcher.breakers(limit),
    closeBreakers: (host) => dispatcher.closeBreakers(host),
    clock: advance,
    events: parts.events,
    activity: parts.activity,
    drain: (withinMs) => drain(parts, { dispatcher, ownership, keeping, state }, withinMs),
  })
  return Context.make(Engine, engine).pipe(Context.add(Scheduler, scheduler))
})

const gather = Effect.fnUntraced(function* (given: EngineOptions) {
  const manual = Option.getOrUndefined(yield* Effect.serviceOption(ManualClock))
  const options = manual === undefined ? given : underManualClock(given)
  const bareStore = yield* TimerStore
  const random = yield* Random.Random
  const metrics = yield* EngineMetrics.make
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const setAside = new SetAside((effect) => void runFork(effect))
  const store = setAside.watch(bareStore)
  const guard = makeGuard(options.onBroken ?? (() => {}))
  const clock = yield* Clock.clockWith(Effect.succeed)
  const wall = yield* WallClock
  const tracing = Option.getOrUndefined(yield* Effect.serviceOption(Tracing))
  const monotonicMs = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
  return {
    options,
    manual,
    bareStore,
    store,
    setAside,
    leases: yield* ShardLeases,
    directory: yield* NamespaceDirectory,
    deliverers: yield* Deliverers,
    peers: Option.getOrUndefined(yield* Effect.serviceOption(Peers)),
    wall,
    censusCounts: Option.getOrUndefined(yield* Effect.serviceOption(CensusCounts)),
    alarm: yield* Alarm,
    ids: yield* Ids,
    clock,
    random: () => random.nextDoubleUnsafe(),
    metrics,
    activity: new ActivityCounter(wall),
    events: new EventFeed(monotonicMs),
    guard,
    queue: yield* WriteQueue.make(store, options.queue, metrics, guard),
    runFork,
    monotonicMs,
    // A manual clock jumps, so delays mean nothing under it.
    ...(manual === undefined ? { newcomers: new NewcomerPace(monotonicMs) } : {}),
    ...(tracing === undefined ? {} : { spans: new AttemptSpans(tracing) }),
  } satisfies Parts
})

/** The dispatcher, and the settler of its attempts. Attempts that still run are interrupted when the scope closes. */
const makeDispatcher = Effect.fnUntraced(function* (
  parts: Parts,
  terms: DispatchTerms,
  notices: DeadNotices,
  notes: Notes,
) {
  const { options, deliverers, directory, runFork } = parts
  const attempts = new RunningAttempts(runFork)
  const settler = new Settler({
    ...parts,
    terms,
    notices,
    run: attempts.run,
    log: (effect) => runFork(effect),
  })
  const warnings = new RefusalWarnings()
  const dispatcher = new Dispatcher({
    ...parts,
    limits: options.dispatch,
    terms,
    deliverers: deliverers.byType,
    run: attempts.start,
    soon: soonBy(runFork),
    after: (delayMs, task) => void runFork(Effect.andThen(Effect.sleep(delayMs), Effect.sync(task))),
    onRefused: (host, detail, nowMs) => {
      for (const line of warnings.linesFor(host, detail, nowMs)) runFork(Effect.logWarning(line))
    },
    confirmed: (notice, attempt, mayStart) => notices.confirmed(notice, attempt, mayStart),
    settle: (flight, delivery, onStored) =>
      settler.settle(flight, delivery, () => {
        onStored()
        notes.stored()
      }),
    postpone: (entry, postponement, onStored) =>
      settler.postpone(entry, postponement, () => {
        onStored()
        notes.stored()
      }),
    expire: (entry, onStored) =>
      settler.expire(entry, () => {
        onStored()
        notes.turn()
      }),
  })
  for (const { presence } of deliverers.byType.values()) {
    presence?.onArrival(() => dispatcher.noteArrival())
  }
  directory.onChange(() => dispatcher.noteTerms())
  yield* Effect.addFinalizer(() => attempts.interruptAll)
  return dispatcher
})

/** Calls a task when the thread has done other work that waits. */
const soonBy =
  (runFork: Parts["runFork"]) =>
  (task: () => void): void =>
    void runFork(Effect.andThen(Effect.yieldNow, Effect.sync(task)))

/** The thread came this much later to due timers than it should. Work that can wait becomes slower. */
const giveWay = (newcomers: NewcomerPace | undefined, delayMs: number): void => {
  if (newcomers === undefined || delayMs < lateFromMs) return
  newcomers.noteDelay(delayMs)
  restBetweenSlices()
}

/** The shards that this node fires, each with its loop. Owned shards share the limits of the window. */
const makeOwnership = Effect.fnUntraced(function* (
  parts: Counting<Parts>,
  dispatcher: Dispatcher,
  notes: Notes,
) {
  const { options, peers } = parts
  const share = (): WindowLimits => {
    const { window } = options
    const owners = Math.max(1, ownership.ownedCount)
    return { ...window, timers: Math.floor(window.timers / owners), bytes: Math.floor(window.bytes / owners) }
  }
  const duePace = new DuePace(soonBy(parts.runFork))
  const sweepPace = new SweepPace()
  const ownership: Ownership = new Ownership(options.ownership, {
    ...parts,
    makeLoop: (lease, trustedUntilNanos) =>
      new ShardLoop(lease, trustedUntilNanos, share(), {
        ...parts,
        dispatcher,
        duePace,
        sweepPace,
        onDelay: (delayMs) => giveWay(parts.newcomers, delayMs),
        pollingIntervalMs: options.pollingIntervalMs,
        page: options.window.page,
        onTurn: () => notes.turn(),
      }),
    onOwnedChanged: () => {
      for (const loop of ownership.loops()) loop.window.resize(share())
    },
    // The other node looks by itself soon, so a lost nudge is not repeated.
    onReleased: (to) => (peers === undefined ? Effect.void : Effect.ignore(peers.nudge(to))),
  })
  yield* Effect.addFinalizer(() => ownership.abandonAll)
  return ownership
})

/** `undefined` unless the clock is manual. */
const makeAdvance = (
  { manual, wall, clock, store }: Parts,
  dispatcher: Dispatcher,
  ownership: Ownership,
  state: StopState,
  prune: Effect.Effect<number>,
): ClockAdvance | undefined =>
  manual &&
  new ClockAdvance({
    wall,
    manual,
    clock,
    store,
    dispatcher,
    shards: () => ownership.shards,
    loops: () => ownership.loops(),
    isStopping: () => state.isDraining,
    prune: pruneAll(prune),
  })

/**
 * Serves the calls of clients: it applies the quotas of their namespaces, and forwards writes to other nodes if there
 * are any.
 */
const makeFront = Effect.fnUntraced(function* (
  parts: Counting<Parts>,
  dispatcher: Dispatcher,
  ownership: Ownership,
  state: StopState,
) {
  const { peers, censusCounts } = parts
  const own = new OwnWrites({ ownership, queue: parts.queue })
  const cluster = peers === undefined ? undefined : { view: ownership, peers }
  const forwarder = cluster === undefined ? undefined : yield* Forwarder.make({ ...parts, ...cluster, own })
  const scheduler = makeScheduler({
    ...parts,
    own,
    forwarder,
    flights: new FlightViews({
      own,
      dispatcher,
      reasons: new WaitingReasons({ ...parts, own, dispatcher }),
      wall: parts.wall,
      cluster,
    }),
    histograms: new Histograms({
      ...parts,
      own,
      shards: () => ownership.shards,
      cluster: peers && { view: ownership, censusCounts },
    }),
    shards: () => ownership.shards,
    isDraining: () => !state.takesWrites,
  })
  const { maxPendingByDefault } = parts.options
  const quotas = new Quotas({ ...parts, nodes: () => ownership.nodes, maxPendingByDefault })
  yield* Effect.forkScoped(quotas.watchStore(parts.store))
  return {
    scheduler: withQuotas(scheduler, quotas),
    // What the engine itself writes. Attempts that end while the process stops are settled, so this goes on until then.
    writes: new CallerWrites({ ...parts, own, forwarder, isDraining: () => false }),
  }
})

const notReady = (): NoOwner =>
  new NoOwner({ message: "the engine is being put together", retryAfterMs: 1_000 })
