// Engines under virtual time: one or more nodes over one memory database. Only the test moves the clock. The test
// scripts the deliveries, and the harness records them as they start. Nothing here really sleeps. `advance` runs every
// sleep that ends within its time, in order, and returns when no fiber has work left.
import { test } from "bun:test"
import { Tracing } from "@punctual/telemetry/Tracing"
import { Clock, Context, Effect, Exit, Scheduler as Fibers, Layer, Logger, Metric, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { Spec, Target } from "../src/domain/Timer.ts"
import { keyOf } from "../src/domain/TimerKey.ts"
import type { OnExisting } from "../src/domain/WriteItem.ts"
import { defaultCensusLimits } from "../src/engine/census/Census.ts"
import { defaultEngineOptions, Engine, type EngineOptions } from "../src/engine/Engine.ts"
import { type CreateCommand, Scheduler } from "../src/engine/front/Scheduler.ts"
import { NamespaceDirectory } from "../src/engine/namespaces/NamespaceDirectory.ts"
import { CensusCounts } from "../src/ports/CensusCounts.ts"
import {
  type Deliverer,
  Deliverers,
  type Delivery,
  type Fire,
  type Presence,
} from "../src/ports/Deliverer.ts"
import { Ids } from "../src/ports/Ids.ts"
import { PeerError, Peers } from "../src/ports/Peers.ts"
import { ShardLeases } from "../src/ports/ShardLeases.ts"
import { type Found, TimerStore } from "../src/ports/TimerStore.ts"
import { ManualClock, WallClock } from "../src/ports/WallClock.ts"
import { MemberList } from "../src/stores/MemberList.ts"
import { type MemoryDatabase, makeMemoryDatabase } from "../src/stores/memory/MemoryDatabase.ts"
import { MemoryStore } from "../src/stores/memory/MemoryStore.ts"
import { CountingScheduler } from "./CountingScheduler.ts"
import { StoreFaults } from "./StoreFaults.ts"
import { scriptedDeliverers } from "./scriptedDeliverers.ts"
import { sampleNow, sampleSpec } from "./timers.ts"

type Sections = { readonly [section in keyof EngineOptions]?: Partial<EngineOptions[section]> }

export interface HarnessOptions extends Omit<Sections, "pollingIntervalMs" | "historyRetentionMs"> {
  readonly shards?: number
  readonly pollingIntervalMs?: number
  /** Starts no node. The test fills the database first, or starts several nodes itself. */
  readonly isEmpty?: boolean
  /** No node sees another member, like processes that share an SQLite file. */
  readonly areStrangers?: boolean
  /** The wall clock stands still until the engine moves it. */
  readonly isManual?: boolean
  /**
   * Nodes reach one another. A node forwards a call that belongs to another node, and tells others when it releases a
   * shard.
   */
  readonly areLinked?: boolean
  /** Webhooks without an answer for this long are silent. Absent: never. */
  readonly silentAfterMs?: number
  /** Gets the spans of attempts. */
  readonly tracing?: Tracing["Service"]
}

/** An attempt as it started. */
export interface StartedFire extends Fire {
  readonly node: string
  /** By the wall clock. */
  readonly at: number
}

export type Script = (fire: Fire) => Effect.Effect<Delivery>

export interface EngineNode {
  readonly name: string
  readonly scheduler: Scheduler["Service"]
  readonly engine: Engine["Service"]
  readonly directory: NamespaceDirectory["Service"]
  readonly faults: StoreFaults
  /** Ends the node as a kill would. It settles nothing and releases nothing. */
  readonly kill: Effect.Effect<void>
  readonly isUp: () => boolean
}

/** Hanging attempts that the test controls. */
export interface Hanging {
  /** Ends the attempt that runs for the timer now. */
  end(timerId: string, delivery?: Delivery): Effect.Effect<void>
  /** Ends all attempts, and ends later ones as soon as they start. */
  endAll(delivery?: Delivery): Effect.Effect<void>
}

export interface NewTimer {
  readonly namespace?: string
  readonly timerId?: string
  /** Counted from now; 0 by default. */
  readonly inMs?: number
  readonly executeAt?: number
  readonly target?: Target
  readonly spec?: Partial<Spec>
  readonly payload?: Uint8Array
  readonly correlationId?: string
  readonly tags?: ReadonlyArray<string>
  readonly traceparent?: string
  readonly onExisting?: OnExisting
}

export const delivered: Delivery = { kind: "delivered", status: 200 }
export const hostFailed: Delivery = { kind: "retry", error: "no answer", isHostFailure: true }
export const refused: Delivery = { kind: "retry", error: "not now", status: 409, isHostFailure: false }

/** More turns than this mean an endless loop. */
const turnsAtMost = 20_000

export class EngineHarness {
  readonly database: MemoryDatabase
  readonly fires: Array<StartedFire> = []
  readonly logs: Array<string> = []
  /** How many attempts run now, and the highest number that ran at once. */
  running = 0
  mostRunning = 0
  readonly #options: HarnessOptions
  readonly #clock: Clock.Clock
  readonly #fibers: CountingScheduler
  #script: Script = () => Effect.succeed(delivered)
  #wallOffsetMs = 0
  #manualMs: number | undefined
  #nodes: Array<EngineNode> = []
  /** Namespaces that have no handler. */
  readonly absent = new Set<string>()
  /** How long attempts prepare before they send, as a lookup does. */
  preparesMs = 0
  readonly #arrivals: Array<() => void> = []
  /** Addresses that refuse connections, even if a node runs there. */
  readonly unreachable = new Set<string>()

  constructor(options: HarnessOptions, clock: Clock.Clock, fibers: CountingScheduler) {
    this.#options = options
    this.#clock = clock
    this.#fibers = fibers
    this.database = makeMemoryDatabase({ shards: options.shards ?? 1 })
    if (options.isManual === true) this.#manualMs = sampleNow
  }

  /** Sets what the deliverers do from now on. */
  onFire(script: Script): void {
    this.#script = script
  }

  /** Attempts that match hang until the test ends them. All others are delivered. */
  hang(which: (fire: Fire) => boolean = () => true): Hanging {
    const standing = new Map<(delivery: Delivery) => void, Fire>()
    let later: Delivery | undefined
    this.#script = (fire) => {
      if (!which(fire)) return Effect.succeed(delivered)
      if (later !== undefined) return Effect.succeed(later)
      return Effect.callback((resume) => {
        const end = (delivery: Delivery) => resume(Effect.succeed(delivery))
        standing.set(end, fire)
        return Effect.sync(() => standing.delete(end))
      })
    }
    const end = (matches: (fire: Fire) => boolean, delivery: Delivery) => {
      for (const [resume, fire] of [...standing]) {
        if (!matches(fire)) continue
        standing.delete(resume)
        resume(delivery)
      }
    }
    return {
      end: (timerId, delivery = delivered) =>
        Effect.andThen(
          Effect.sync(() => end((fire) => fire.timerId === timerId, delivery)),
          this.still,
        ),
      endAll: (delivery = delivered) =>
        Effect.suspend(() => {
          later = delivery
          end(() => true, delivery)
          return this.still
        }),
    }
  }

  /** Wall time. */
  now(): number {
    return (this.#manualMs ?? this.#clock.currentTimeMillisUnsafe()) + this.#wallOffsetMs
  }

  /** Moves only the wall clock, as an administrator or a bad time server would. */
  jumpWallClock(byMs: number): void {
    this.#wallOffsetMs += byMs
  }

  /** Lets time pass, and returns when everything that follows from it has happened. */
  advance(ms: number): Effect.Effect<void> {
    return this.still.pipe(Effect.andThen(TestClock.adjust(ms)), Effect.andThen(this.still))
  }

  /** Waits until every fiber only waits. Only one caller waits at a time, because two would wait for each other. */
  get still(): Effect.Effect<void> {
    const fibers = this.#fibers
    return Effect.gen(function* () {
      yield* Effect.yieldNow
      for (let turn = 0; fibers.waiting > 0; turn++) {
        if (turn > turnsAtMost) throw new Error("the engine does not come to rest")
        yield* Effect.yieldNow
      }
    })
  }

  command(timer: NewTimer = {}): CreateCommand {
    const { timerId, payload, correlationId, tags, traceparent } = timer
    return {
      namespace: timer.namespace ?? "shop",
      executeAt: timer.executeAt ?? this.now() + (timer.inMs ?? 0),
      spec: { ...sampleSpec, target: timer.target ?? sampleSpec.target, ...timer.spec },
      onExisting: timer.onExisting ?? "replace",
      ...(timerId === undefined ? {} : { timerId }),
      ...(payload === undefined ? {} : { payload }),
      ...(correlationId === undefined ? {} : { correlationId }),
      ...(tags === undefined ? {} : { tags }),
      ...(traceparent === undefined ? {} : { traceparent }),
    }
  }

  /** Creates the timer on the node that was started first. */
  create(timer: NewTimer = {}) {
    return this.node.scheduler.create(this.command(timer))
  }

  cancel(timerId: string, namespace = "shop") {
    return this.node.scheduler.cancel(namespace, timerId, undefined)
  }

  get node(): EngineNode {
    const [first] = this.#nodes
    if (first === undefined) throw new Error("no node was started")
    return first
  }

  get faults(): StoreFaults {
    return this.node.faults
  }

  /** What the store holds under the key. */
  stored(timerId: string, namespace = "shop"): Found {
    return this.database.known(keyOf(namespace, timerId))
  }

  firesOf(timerId: string): ReadonlyArray<StartedFire> {
    return this.fires.filter((fire) => fire.timerId === timerId)
  }

  /** The sum of a counter or gauge over its labels. */
  readonly metric = Effect.fnUntraced(function* (id: string) {
    let sum = 0
    for (const { id: found, type, state } of yield* Metric.snapshot) {
      if (found !== id) continue
      if (type === "Counter") sum += Number(state.count)
      if (type === "Gauge") sum += Number(state.value)
    }
    return sum
  })

  get rescued(): Effect.Effect<number> {
    return this.metric("timer_sweep_rescued_total")
  }

  /**
   * Starts a node over the shared database, with faults from the start if the caller gives them. The node ends with the
   * test.
   */
  startNode(
    name: string,
    disturb: (faults: StoreFaults) => void = () => {},
  ): Effect.Effect<EngineNode, never, Scope.Scope> {
    const self = this
    return Effect.gen(function* () {
      const scope = yield* Scope.fork(yield* Effect.scope)
      const stores = yield* Layer.buildWithScope(MemoryStore.over(self.database), scope)
      const faults = yield* Effect.provideContext(
        Effect.map(
          Effect.all([TimerStore, ShardLeases]),
          ([store, leases]) =>
            new StoreFaults(store, self.#options.areStrangers === true ? amongStrangers(leases) : leases),
        ),
        stores,
      )
      disturb(faults)
      const directory = yield* Layer.buildWithScope(
        Layer.provide(NamespaceDirectory.layer(), Layer.succeedContext(stores)),
        scope,
      ).pipe(Effect.map(Context.get(NamespaceDirectory)))
      const layer = Engine.layer(engineOptions(self.#options, name)).pipe(
        Layer.provide([
          Layer.succeed(TimerStore, faults.store),
          Layer.succeed(ShardLeases, faults.leases),
          Layer.succeed(Deliverers, { byType: self.#deliverers(name) }),
          Layer.succeed(WallClock, { now: () => self.now() }),
          Ids.fromRandom,
          Layer.succeed(NamespaceDirectory, directory),
          self.#options.areLinked === true ? self.#links : Layer.empty,
          self.#options.isManual === true ? self.#hand : Layer.empty,
          self.#options.tracing === undefined ? Layer.empty : Layer.succeed(Tracing, self.#options.tracing),
        ]),
      )
      const services = yield* Layer.buildWithScope(layer, scope)
      const node = yield* Effect.provideContext(
        Effect.map(Effect.all([Scheduler, Engine]), ([scheduler, engine]) => ({ scheduler, engine })),
        services,
      )
      let isUp = true
      const kill = Effect.suspend(() => {
        isUp = false
        return Scope.close(scope, Exit.void)
      })
      const started: EngineNode = { ...node, name, directory, faults, kill, isUp: () => isUp }
      self.#nodes.push(started)
      yield* self.still
      return started
    })
  }

  get #hand(): Layer.Layer<ManualClock> {
    const moveTo = (ms: number) => {
      this.#manualMs = Math.max(ms, this.#manualMs ?? ms)
    }
    return Layer.succeed(ManualClock, { moveTo })
  }

  /** Every node's name is its address. No node reaches a node that was killed or drained. */
  get #links(): Layer.Layer<Peers | CensusCounts> {
    const reached = <A>(
      address: string,
      ask: (node: EngineNode) => Effect.Effect<A>,
    ): Effect.Effect<A, PeerError> =>
      Effect.suspend(() => {
        const isThere = ({ name, isUp }: EngineNode) =>
          name === address && isUp() && !this.unreachable.has(address)
        const node = this.#nodes.find(isThere)
        return node === undefined
          ? new PeerError({ message: `${address} is not there`, isUndelivered: true })
          : ask(node)
      })
    const counts = Layer.succeed(CensusCounts, {
      of: ({ address }, question) => reached(address, ({ scheduler }) => scheduler.countsHere(question)),
    })
    const peers = Layer.succeed(Peers, {
      write: ({ address }, items) => reached(address, ({ scheduler }) => scheduler.accept(items)),
      firing: ({ address }, timers) =>
        reached(address, ({ scheduler }) => Effect.sync(() => scheduler.firingHere(timers))),
      nudge: ({ address }) => reached(address, ({ engine }) => Effect.sync(() => engine.lookNow())),
    })
    return Layer.merge(peers, counts)
  }

  /** From now on the namespace has a handler. */
  arrive(namespace: string): void {
    this.absent.delete(namespace)
    for (const listener of this.#arrivals) listener()
  }

  readonly #presence: Presence = {
    isThere: (namespace) => !this.absent.has(namespace),
    absence: { reason: "noSubscriber", detail: "There is no handler." },
    onArrival: (listener) => {
      this.#arrivals.push(listener)
    },
  }

  #deliverers(node: string): ReadonlyMap<Target["type"], Deliverer> {
    return scriptedDeliverers({
      attempt: (fire) => {
        this.fires.push({ ...fire, node, at: this.now() })
        this.running++
        this.mostRunning = Math.max(this.mostRunning, this.running)
        return Effect.ensuring(
          this.#script(fire),
          Effect.sync(() => {
            this.running--
          }),
        )
      },
      presence: this.#presence,
      preparesMs: () => this.preparesMs,
      silentAfterMs: this.#options.silentAfterMs,
    })
  }
}

/** A test of a law. Its body has an engine of its own and moves the time itself. */
export const engineTest = (
  title: string,
  options: HarnessOptions,
  body: (engine: EngineHarness) => Effect.Effect<void, unknown, Scope.Scope>,
): void => {
  test(title, () => runVirtually(options, body))
}

/** The same for property tests, once for each case. */
export const runVirtually = (
  options: HarnessOptions,
  body: (engine: EngineHarness) => Effect.Effect<void, unknown, Scope.Scope>,
): Promise<void> => {
  const fibers = new CountingScheduler()
  const program = Effect.gen(function* () {
    yield* TestClock.setTime(sampleNow)
    const clock = yield* Clock.clockWith(Effect.succeed)
    const harness = new EngineHarness(options, clock, fibers)
    const logger = Logger.make<unknown, void>(({ message }) => {
      harness.logs.push(String(message))
    })
    yield* Effect.gen(function* () {
      if (options.isEmpty !== true) yield* harness.startNode("node-1")
      yield* body(harness)
    }).pipe(Effect.provide(Logger.layer([logger])))
  })
  return Effect.runPromise(
    program.pipe(
      Effect.scoped,
      Effect.provide(TestClock.layer()),
      Effect.provideService(Metric.MetricRegistry, new Map()),
      Effect.provideService(Fibers.Scheduler, fibers),
    ),
  )
}

const amongStrangers = (leases: ShardLeases["Service"]): ShardLeases["Service"] => {
  const members = new MemberList()
  return {
    ...leases,
    announce: (member) => Effect.sync(() => members.announce(member)),
    members: Effect.sync(() => members.all()),
    retire: (node) => Effect.sync(() => members.retire(node)),
    retireSilent: (seen) => Effect.sync(() => members.retireSilent(seen)),
  }
}

const engineOptions = (options: HarnessOptions, node: string): EngineOptions => {
  const { ownership, window, dispatch, queue } = defaultEngineOptions
  return {
    ...defaultEngineOptions,
    pollingIntervalMs: options.pollingIntervalMs ?? defaultEngineOptions.pollingIntervalMs,
    ownership: { ...ownership, ...options.ownership, node, address: node },
    window: { ...window, ...options.window },
    dispatch: { ...dispatch, ...options.dispatch },
    // Most tests look at what is stored directly after a delivery.
    queue: { ...queue, waitMs: 0, ...options.queue },
    ...(options.census === undefined ? {} : { census: { ...defaultCensusLimits, ...options.census } }),
  }
}
