// A store and its leases with faults that a test controls: a call fails without an effect, a call is carried out and
// reported as failed, a call stops before its effect, or a call stops before its reply. The far side of a port fails in
// these four ways and no others. A test can therefore describe a race as "hold this reply, do that, release it" and
// never waits.
import { Effect, Latch } from "effect"
import type { TimerKey } from "../src/domain/Timer.ts"
import type { Announcement, Lease, SeenBeat, ShardLeases } from "../src/ports/ShardLeases.ts"
import {
  type DueQuery,
  type ListQuery,
  type ShardBatch,
  StoreError,
  type TimerStore,
} from "../src/ports/TimerStore.ts"

/** The calls that a test can disturb, and the arguments by which a fault selects calls. */
export interface StoreCalls {
  readonly open: number
  readonly write: ReadonlyArray<ShardBatch>
  readonly due: DueQuery
  readonly dueHeads: DueQuery
  readonly insertIfAbsent: number
  readonly find: TimerKey
  readonly list: ListQuery
  readonly count: unknown
  readonly histogram: unknown
  readonly namespaces: string
  readonly prune: number
  readonly tally: undefined
  readonly owners: undefined
  readonly claim: Lease
  readonly renew: ReadonlyArray<{ readonly shard: number; readonly epoch: number }>
  readonly release: number
  readonly announce: Announcement
  readonly members: undefined
  readonly retire: string
  readonly retireSilent: SeenBeat
}

export type StoreMethod = keyof StoreCalls

export interface FaultOptions<Method extends StoreMethod> {
  /** How many calls the fault affects; one by default, `Infinity` for all. */
  readonly times?: number
  /** Which calls the fault affects; all by default. */
  readonly when?: (argument: StoreCalls[Method]) => boolean
}

/** The place where held calls wait. */
export interface Gate {
  /** Waits until the first call is held here. */
  readonly reached: Effect.Effect<void>
  /** How many calls are held here now. */
  readonly standing: () => number
  /** Releases the held calls. Later calls pass. */
  readonly release: Effect.Effect<void>
}

type Moment = "before" | "after"

interface Fault {
  readonly method: StoreMethod
  readonly moment: Moment
  readonly when: (argument: unknown) => boolean
  /** What happens to a call at that moment: it waits, or it fails. */
  readonly disturb: Effect.Effect<void, StoreError>
  timesLeft: number
}

export class StoreFaults {
  readonly store: TimerStore["Service"]
  readonly leases: ShardLeases["Service"]
  readonly #faults = new Set<Fault>()
  readonly #counts = new Map<StoreMethod, number>()

  constructor(store: TimerStore["Service"], leases: ShardLeases["Service"]) {
    this.store = this.#disturbedStore(store)
    this.leases = this.#disturbedLeases(leases)
  }

  /** How often a method was called, calls with faults included. */
  calls(method: StoreMethod): number {
    return this.#counts.get(method) ?? 0
  }

  /** Holds the call before anything has happened. */
  holdCall<Method extends StoreMethod>(method: Method, options: FaultOptions<Method> = {}): Gate {
    return this.#hold(method, "before", options)
  }

  /** Carries the call out and holds its reply. */
  holdReply<Method extends StoreMethod>(method: Method, options: FaultOptions<Method> = {}): Gate {
    return this.#hold(method, "after", options)
  }

  /** The call fails without an effect. The returned function ends the fault. */
  fail<Method extends StoreMethod>(method: Method, options: FaultOptions<Method> = {}): () => void {
    return this.#add(method, "before", failure(method, "it was not done"), options)
  }

  /** The call is carried out and reported as failed. The returned function ends the fault. */
  failReply<Method extends StoreMethod>(method: Method, options: FaultOptions<Method> = {}): () => void {
    return this.#add(method, "after", failure(method, "it was done, but its reply was lost"), options)
  }

  #hold<Method extends StoreMethod>(method: Method, moment: Moment, options: FaultOptions<Method>): Gate {
    const reached = Latch.makeUnsafe(false)
    const open = Latch.makeUnsafe(false)
    let standing = 0
    const stand = Effect.suspend(() => {
      standing++
      reached.openUnsafe()
      return Effect.ensuring(
        open.await,
        Effect.sync(() => {
          standing--
        }),
      )
    })
    const end = this.#add(method, moment, stand, options)
    return {
      reached: reached.await,
      standing: () => standing,
      release: Effect.sync(() => {
        end()
        open.openUnsafe()
      }),
    }
  }

  #add<Method extends StoreMethod>(
    method: Method,
    moment: Moment,
    disturb: Effect.Effect<void, StoreError>,
    { times = 1, when = () => true }: FaultOptions<Method>,
  ): () => void {
    // A fault gets only calls of its own method.
    const fault: Fault = { method, moment, when: when as Fault["when"], disturb, timesLeft: times }
    this.#faults.add(fault)
    return () => {
      this.#faults.delete(fault)
    }
  }

  /** The faults of a call are chosen when it arrives, so that a later call cannot take them first. */
  #disturbed<A, E>(
    method: StoreMethod,
    argument: unknown,
    call: Effect.Effect<A, E>,
  ): Effect.Effect<A, E | StoreError> {
    return Effect.suspend(() => {
      this.#counts.set(method, this.calls(method) + 1)
      const before = this.#take(method, "before", argument)
      const after = this.#take(method, "after", argument)
      if (before === undefined && after === undefined) return call
      return (before?.disturb ?? Effect.void).pipe(
        Effect.andThen(call),
        Effect.tap(() => after?.disturb ?? Effect.void),
      )
    })
  }

  #take(method: StoreMethod, moment: Moment, argument: unknown): Fault | undefined {
    for (const fault of this.#faults) {
      if (fault.method !== method || fault.moment !== moment || !fault.when(argument)) continue
      if (--fault.timesLeft === 0) this.#faults.delete(fault)
      return fault
    }
    return undefined
  }

  #disturbedStore(store: TimerStore["Service"]): TimerStore["Service"] {
    return {
      limits: store.limits,
      open: (shard, epoch) => this.#disturbed("open", shard, store.open(shard, epoch)),
      write: (batches) => this.#disturbed("write", batches, store.write(batches)),
      due: (query) => this.#disturbed("due", query, store.due(query)),
      dueHeads: (query) => this.#disturbed("dueHeads", query, store.dueHeads(query)),
      insertIfAbsent: (shard, puts) =>
        this.#disturbed("insertIfAbsent", shard, store.insertIfAbsent(shard, puts)),
      find: (key, life) => this.#disturbed("find", key, store.find(key, life)),
      list: (query) => this.#disturbed("list", query, store.list(query)),
      count: (query) => this.#disturbed("count", query, store.count(query)),
      histogram: (query) => this.#disturbed("histogram", query, store.histogram(query)),
      namespaces: (exclusiveAfter, limit) =>
        this.#disturbed("namespaces", exclusiveAfter, store.namespaces(exclusiveAfter, limit)),
      prune: (exclusiveBeforeMs, limit) =>
        this.#disturbed("prune", exclusiveBeforeMs, store.prune(exclusiveBeforeMs, limit)),
      tally: this.#disturbed("tally", undefined, store.tally),
    }
  }

  #disturbedLeases(leases: ShardLeases["Service"]): ShardLeases["Service"] {
    return {
      owners: this.#disturbed("owners", undefined, leases.owners),
      claim: (expected, node) => this.#disturbed("claim", expected, leases.claim(expected, node)),
      renew: (held) => this.#disturbed("renew", held, leases.renew(held)),
      release: (shard, epoch) => this.#disturbed("release", shard, leases.release(shard, epoch)),
      announce: (member) => this.#disturbed("announce", member, leases.announce(member)),
      members: this.#disturbed("members", undefined, leases.members),
      retire: (node) => this.#disturbed("retire", node, leases.retire(node)),
      retireSilent: (seen) => this.#disturbed("retireSilent", seen, leases.retireSilent(seen)),
    }
  }
}

const failure = (method: StoreMethod, what: string): Effect.Effect<never, StoreError> =>
  Effect.fail(new StoreError({ message: `${method} failed as the test asked: ${what}`, isFatal: false }))
