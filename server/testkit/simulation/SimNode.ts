// One machine of the cluster: its clocks, its connections to the store and to other machines, and the process that runs
// the real engine on it, if one runs.
import { Documents } from "@punctual/documents/Documents"
import { Context, Effect, Layer, Metric } from "effect"
import type { Target } from "../../src/domain/Timer.ts"
import { Engine } from "../../src/engine/Engine.ts"
import { Scheduler } from "../../src/engine/front/Scheduler.ts"
import { NamespaceDirectory } from "../../src/engine/namespaces/NamespaceDirectory.ts"
import { Deliverers } from "../../src/ports/Deliverer.ts"
import { Ids } from "../../src/ports/Ids.ts"
import { Peers } from "../../src/ports/Peers.ts"
import { ShardLeases } from "../../src/ports/ShardLeases.ts"
import { ShardStorage } from "../../src/ports/ShardStorage.ts"
import { TimerStore } from "../../src/ports/TimerStore.ts"
import { WallClock } from "../../src/ports/WallClock.ts"
import { decidingStore } from "../../src/stores/DecidingStore.ts"
import type { MemoryDatabase } from "../../src/stores/memory/MemoryDatabase.ts"
import { MemoryStore } from "../../src/stores/memory/MemoryStore.ts"
import type { HistoryRecorder } from "../History.ts"
import type { Scenario } from "./Scenario.ts"
import { MachineClock } from "./SimClock.ts"
import type { Reachable, SimPeers } from "./SimPeers.ts"
import { SimProcess } from "./SimProcess.ts"
import { SimStore, StoreLink, type StoreWitness } from "./SimStore.ts"
import type { Targets } from "./Targets.ts"
import type { World } from "./World.ts"

export interface SimNodeParts {
  readonly world: World
  readonly scenario: Scenario
  readonly database: MemoryDatabase
  readonly witness: StoreWitness
  readonly targets: Targets
  readonly recorder: HistoryRecorder
  readonly peers: SimPeers
}

/** The services of a process that the simulation can call. */
export type SimServices = Engine | Scheduler | NamespaceDirectory

interface Running {
  readonly process: SimProcess
  isLeaving: boolean
  services: Context.Context<SimServices> | undefined
}

export class SimNode {
  readonly name: string
  readonly link = new StoreLink()
  readonly clock: MachineClock
  /** Since this instant, the machine, its clock and its connection to the store have had no fault. */
  wellSinceUs = 0
  /** When the last process of this machine started. */
  startedUs = 0
  readonly #parts: SimNodeParts
  #running: Running | undefined
  #starts = 0
  /** When the last known trouble ends by itself. */
  #troubledUntilUs = 0

  constructor(name: string, parts: SimNodeParts) {
    this.name = name
    this.#parts = parts
    const { world, scenario } = parts
    this.clock = MachineClock.drifting(world, world.chance(`clock of ${name}`), scenario.driftOfClocks)
  }

  get process(): SimProcess | undefined {
    return this.#running?.process
  }

  /** The process drains and will then stop. */
  get isLeaving(): boolean {
    return this.#running?.isLeaving ?? false
  }

  /** The services of the engine, once it has started. */
  get services(): Context.Context<SimServices> | undefined {
    return this.#running?.services
  }

  /** How other nodes reach this node under its name. */
  get reachable(): Reachable | undefined {
    if (this.#running?.services === undefined) return undefined
    const { process, services } = this.#running
    return { process, scheduler: Context.get(services, Scheduler), engine: Context.get(services, Engine) }
  }

  /** Whether the node has been healthy the whole time since then. */
  isWellSince(thenUs: number): boolean {
    return this.wellSinceUs <= thenUs && !this.link.isTroubledAt(this.#parts.world.nowUs)
  }

  /** Notes that the node has a fault until that instant. */
  noteTrouble(untilUs: number): void {
    this.wellSinceUs = Math.max(this.wellSinceUs, untilUs)
    if (Number.isFinite(untilUs)) this.#troubledUntilUs = Math.max(this.#troubledUntilUs, untilUs)
  }

  start(): void {
    if (this.#running !== undefined) return
    const { world, recorder, scenario } = this.#parts
    this.#starts++
    const member =
      scenario.isRenamedOnRestart && this.#starts > 1 ? `${this.name}.${this.#starts}` : this.name
    const process = new SimProcess(
      this.name,
      world,
      this.clock,
      world.chance(`process ${this.name} ${this.#starts}`),
    )
    const running: Running = { process, isLeaving: false, services: undefined }
    this.#running = running
    this.startedUs = world.nowUs
    this.noteTrouble(world.nowUs)
    recorder.node("started", this.name)
    world.trace.note(this.name, () => `starts as ${member}`)
    process.post(() => {
      const life = Effect.gen({ self: this }, function* () {
        running.services = yield* Layer.build(this.#engine(process, member))
        return yield* Effect.never
      })
      process.run(Effect.scoped(life))
    })
  }

  crash(): void {
    const { world, recorder } = this.#parts
    if (this.#running === undefined) return
    world.trace.note(this.name, () => "crashes")
    this.#running.process.crash()
    this.#running = undefined
    recorder.node("killed", this.name)
  }

  pause(): void {
    this.#parts.world.trace.note(this.name, () => "is paused")
    this.#running?.process.pause()
    this.noteTrouble(Number.POSITIVE_INFINITY)
  }

  resume(): void {
    const { world } = this.#parts
    if (this.#running?.process.isPaused !== true) return
    world.trace.note(this.name, () => "goes on")
    this.#running.process.resume()
    // Another trouble may last longer than the restart.
    this.wellSinceUs = Math.max(world.nowUs, this.#troubledUntilUs)
  }

  /** Stops the process in good order: it starts no more attempts, settles and releases everything, and then ends. */
  drain(withinMs: number): void {
    const running = this.#running
    const { world, recorder } = this.#parts
    if (running?.services === undefined) {
      this.crash()
      return
    }
    const engine = Context.get(running.services, Engine)
    running.isLeaving = true
    world.trace.note(this.name, () => "drains")
    this.noteTrouble(Number.POSITIVE_INFINITY)
    running.process.post(() =>
      running.process.run(engine.drain(withinMs)).addObserver(() => {
        world.trace.note(this.name, () => "has drained and stops")
        recorder.node("stopped", this.name)
        running.process.crash()
        if (this.#running === running) this.#running = undefined
      }),
    )
  }

  /** Sets the wall clock, possibly to a wrong time. */
  setClock(offsetMs: number): void {
    this.clock.offsetMs = offsetMs
    this.noteTrouble(this.#parts.world.nowUs)
  }

  /** The sum of a counter since the last start, over all labels or for one label. */
  counter(id: string, label?: string): number {
    if (this.#running === undefined) return 0
    let sum = 0
    for (const { id: found, type, state, attributes } of Effect.runSync(
      Effect.provideContext(Metric.snapshot, this.#running.process.context),
    )) {
      const isMeant = label === undefined || Object.values(attributes ?? {}).includes(label)
      if (found === id && type === "Counter" && isMeant) sum += Number(state.count)
    }
    return sum
  }

  #engine(process: SimProcess, member: string): Layer.Layer<SimServices> {
    const { scenario, database, witness, targets, world, peers } = this.#parts
    const { batchItems, concurrentWrites } = scenario
    const stores = Layer.effectContext(
      Effect.gen({ self: this }, function* () {
        const simulated = new SimStore(yield* ShardStorage, yield* ShardLeases, {
          process,
          link: this.link,
          chance: world.chance(`store of ${process.name} ${this.#starts}`),
          witness,
          limits: { batchItems, concurrentWrites },
        })
        return Context.make(TimerStore, decidingStore(simulated.storage)).pipe(
          Context.add(ShardLeases, simulated.leases),
          Context.add(Documents, simulated.documentsOverWire(database.documents)),
        )
      }),
    ).pipe(Layer.provide(MemoryStore.over(database)))
    const deliverer = targets.reachedFrom(process)
    const byType = new Map<Target["type"], typeof deliverer>([["webhook", deliverer]])
    const engine = Engine.layer({
      ...scenario.engine,
      ownership: { ...scenario.engine.ownership, node: member, address: this.name },
      onBroken: (message) => world.stop(message),
    })
    // A node that runs alone by its settings knows no other nodes.
    const clustered =
      scenario.nodes === 1 ? engine : Layer.provide(engine, Layer.succeed(Peers, peers.seenFrom(process)))
    return clustered.pipe(
      Layer.provideMerge(NamespaceDirectory.layer()),
      Layer.provide([
        stores,
        Layer.succeed(Deliverers, { byType }),
        Layer.succeed(WallClock, { now: () => this.clock.wallMs() }),
        Ids.fromRandom,
      ]),
    )
  }
}
