// A forwarder with scripted peers, over a memory store with faults, in virtual time.
import { Effect, Layer, type Scope } from "effect"
import { shardOf } from "../../src/domain/TimerKey.ts"
import { keyOfItem } from "../../src/domain/WriteItem.ts"
import { EngineMetrics } from "../../src/engine/EngineMetrics.ts"
import type { CarriedResult } from "../../src/engine/forwarding/CarriedWrite.ts"
import { Forwarder } from "../../src/engine/forwarding/Forwarder.ts"
import { makeGuard } from "../../src/engine/Guard.ts"
import { type CarriedAnswer, type CarriedItem, PeerError } from "../../src/ports/Peers.ts"
import { ShardLeases } from "../../src/ports/ShardLeases.ts"
import { TimerStore } from "../../src/ports/TimerStore.ts"
import { MemoryStore } from "../../src/stores/memory/MemoryStore.ts"
import type { EngineHarness } from "../../testkit/EngineHarness.ts"
import { StoreFaults } from "../../testkit/StoreFaults.ts"

export interface Call {
  readonly atMs: number
  readonly address: string
  readonly items: ReadonlyArray<CarriedItem>
}

type Peer = (items: ReadonlyArray<CarriedItem>) => Effect.Effect<ReadonlyArray<CarriedAnswer>, PeerError>

export const refusing: Peer = () => new PeerError({ message: "connection refused", isUndelivered: true })
export const breaking: Peer = () => new PeerError({ message: "connection broken", isUndelivered: false })
export const silent: Peer = () => Effect.never

/** Creates every item. This is the answer of an owner with an empty shard. */
export const creating: Peer = (items) => Effect.succeed(items.map(created))

export const created = (item: CarriedItem): CarriedAnswer =>
  "timer" in item
    ? { kind: "answered", answer: { result: "created", timer: item.timer } }
    : { kind: "answered", answer: { result: "cancelled" } }

export const allWith =
  (answer: CarriedAnswer): Peer =>
  (items) =>
    Effect.succeed(items.map(() => answer))

export class ForwarderRig {
  readonly calls: Array<Call> = []
  readonly answers = new Map<string, CarriedResult>()
  readonly answeredAtMs = new Map<string, number>()
  readonly ownQueue: Array<CarriedItem> = []
  readonly faults: StoreFaults
  readonly harness: EngineHarness
  refreshes = 0
  /** What the view shows: one owner of all shards, or none. */
  owner: string | undefined = "a"
  isOwnedHere = false
  onRefresh: () => void = () => {}
  onOwnPut: (item: CarriedItem) => CarriedAnswer = created
  /** The store's adapter dies instead of failing. */
  insertsBreak = false
  /** The reported loops that broke. */
  readonly broken: Array<string> = []
  readonly #peers = new Map<string, Peer>()
  readonly #startedMs: number
  #forwarder: Forwarder | undefined

  private constructor(harness: EngineHarness, faults: StoreFaults) {
    this.harness = harness
    this.faults = faults
    this.#startedMs = harness.now()
  }

  static make(harness: EngineHarness): Effect.Effect<ForwarderRig, never, Scope.Scope> {
    return Effect.gen(function* () {
      const stores = yield* Layer.build(MemoryStore.over(harness.database))
      const faults = yield* Effect.provideContext(
        Effect.map(
          Effect.all([TimerStore, ShardLeases]),
          ([store, leases]) => new StoreFaults(store, leases),
        ),
        stores,
      )
      const rig = new ForwarderRig(harness, faults)
      rig.#forwarder = yield* Forwarder.make({
        view: {
          node: "here",
          ownerOf: () =>
            rig.isOwnedHere || rig.owner === undefined ? undefined : { node: rig.owner, address: rig.owner },
          refresh: Effect.sync(() => {
            rig.refreshes++
            rig.onRefresh()
          }),
        },
        peers: { write: ({ address }, items) => rig.#call(address, items) },
        store: {
          limits: faults.store.limits,
          insertIfAbsent: (shard, puts) =>
            rig.insertsBreak ? Effect.die(new Error("a bug")) : faults.store.insertIfAbsent(shard, puts),
        },
        own: {
          shardOf: ({ uuid }) => shardOf(uuid, harness.database.shards.length),
          owns: () => rig.isOwnedHere,
          put: (item, onAnswer) => {
            rig.ownQueue.push(item)
            onAnswer(rig.onOwnPut(item))
          },
        },
        metrics: yield* EngineMetrics.make,
        guard: makeGuard((message) => rig.broken.push(message)),
      })
      return rig
    })
  }

  /** Sets how the peer at this address answers: `first` now, then `then`, call by call. */
  peer(address: string, first: Peer, ...then: ReadonlyArray<Peer>): void {
    const script = [first, ...then]
    this.#peers.set(address, (items) => {
      const next = script.length > 1 ? script.shift() : script[0]
      return (next ?? first)(items)
    })
  }

  carry(item: CarriedItem, options?: { readonly mayBeDone: boolean }): void {
    const { timerId } = keyOfItem(item)
    const name = `${item.kind} ${timerId}`
    this.carrying.carry(
      item,
      (result) => {
        if (this.answers.has(name)) throw new Error(`${name} was answered twice`)
        this.answers.set(name, result)
        this.answeredAtMs.set(name, this.elapsedMs())
      },
      options,
    )
  }

  get carrying(): Forwarder {
    if (this.#forwarder === undefined) throw new Error("the rig was not made")
    return this.#forwarder
  }

  /** A short form: the result, or the refusal and whether something may have been written. */
  told(name: string): string | undefined {
    const answer = this.answers.get(name)
    if (answer === undefined) return undefined
    if (!("_tag" in answer)) return answer.result
    return answer._tag === "TooManyWrites"
      ? "overloaded"
      : answer.mayBeDone === true
        ? "unknown"
        : "nothing written"
  }

  elapsedMs(): number {
    return this.harness.now() - this.#startedMs
  }

  #call(
    address: string,
    items: ReadonlyArray<CarriedItem>,
  ): Effect.Effect<ReadonlyArray<CarriedAnswer>, PeerError> {
    this.calls.push({ atMs: this.elapsedMs(), address, items })
    return (this.#peers.get(address) ?? creating)(items)
  }
}
