// The connection of a node to the storage. The memory storage itself has no faults; the connection has. A call may be
// slow before or after its effect. It may fail without an effect. It may also be reported as failed and have its
// effect before or after that report. While the node is cut off, no call gets through. If a node crashes after it sent
// a call, the call is carried out or lost.
import type { Documents } from "@punctual/documents/Documents"
import type { MemoryDocuments } from "@punctual/documents/memory/MemoryDocuments"
import { Effect, Exit } from "effect"
import type { Timer } from "../../src/domain/Timer.ts"
import type { Lease, ShardLeases } from "../../src/ports/ShardLeases.ts"
import type {
  Commit,
  CommitAnswer,
  Inserted as InsertedTimer,
  ShardStorage,
} from "../../src/ports/ShardStorage.ts"
import { type DuePage, StoreError } from "../../src/ports/TimerStore.ts"
import { storeDocuments } from "../../src/stores/StoreDocuments.ts"
import type { Chance } from "./Chance.ts"
import type { SimProcess } from "./SimProcess.ts"
import type { World } from "./World.ts"

/** The state of one machine's connection to the store. Each fault lasts until an instant of true time. */
export class StoreLink {
  cutUntilUs = 0
  flakyUntilUs = 0
  slowUntilUs = 0
  lateUntilUs = 0
  /** Only claims are slow until this instant. */
  claimsSlowUntilUs = 0
  /** Calls that were on their way until this instant are lost. */
  #lateNotAfterUs = Number.POSITIVE_INFINITY

  isTroubledAt(nowUs: number): boolean {
    return nowUs < Math.max(this.cutUntilUs, this.flakyUntilUs, this.slowUntilUs, this.lateUntilUs)
  }

  /** Whether a call that the caller gave up still arrives. */
  arrivesAt(nowUs: number): boolean {
    return nowUs <= this.#lateNotAfterUs
  }

  heal(nowUs: number): void {
    this.cutUntilUs = Math.min(this.cutUntilUs, nowUs)
    this.flakyUntilUs = Math.min(this.flakyUntilUs, nowUs)
    this.slowUntilUs = Math.min(this.slowUntilUs, nowUs)
    this.lateUntilUs = Math.min(this.lateUntilUs, nowUs)
    this.claimsSlowUntilUs = Math.min(this.claimsSlowUntilUs, nowUs)
    this.#lateNotAfterUs = nowUs + slowestUs
  }
}

/** Sees each call at the instant of its effect. `run` carries the call out. */
export interface StoreWitness {
  commit(node: string, commits: ReadonlyArray<Commit>, run: () => Committed): Committed
  claim(node: string, expected: Lease, run: () => Claimed): Claimed
  insert(node: string, shard: number, timers: ReadonlyArray<Timer>, run: () => Inserted): Inserted
  /** The node reads a page. */
  read(node: string): void
}

export type Committed = Exit.Exit<ReadonlyArray<CommitAnswer>, StoreError>
export type Claimed = Exit.Exit<Lease | undefined, StoreError>
export type Inserted = Exit.Exit<ReadonlyArray<InsertedTimer>, StoreError>

export interface SimStoreParts {
  readonly process: SimProcess
  readonly link: StoreLink
  readonly chance: Chance
  readonly witness: StoreWitness
  readonly limits: { readonly batchItems: number; readonly concurrentWrites: number }
}

const longestTripUs = 1_500
export const slowestUs = 4_000_000
/** A call that the caller gave up may arrive after other nodes have taken over the shard. */
const latestUs = 9_000_000
/** A caller gives up a call that has no answer after this time. */
const answerWithinUs = 3_000_000

export class SimStore {
  readonly storage: ShardStorage["Service"]
  readonly leases: ShardLeases["Service"]
  readonly #parts: SimStoreParts
  readonly #world: World

  constructor(storage: ShardStorage["Service"], leases: ShardLeases["Service"], parts: SimStoreParts) {
    this.#parts = parts
    this.#world = parts.process.world
    this.storage = this.#overWire(storage)
    this.leases = this.#leasesOverWire(leases)
  }

  #overWire(storage: ShardStorage["Service"]): ShardStorage["Service"] {
    const { witness, process, limits } = this.#parts
    const { insertNew } = storage
    return {
      limits: { ...storage.limits, ...limits },
      open: (shard, epoch) => this.#call("open", () => done(storage.open(shard, epoch))),
      look: (looks) =>
        this.#call("look", () => {
          this.#world.trace.note(
            process.name,
            () => `looks at ${looks.map(({ key }) => key.timerId).join(", ")}`,
          )
          return done(storage.look(looks))
        }),
      commit: (commits) =>
        this.#call(
          "commit",
          () => witness.commit(process.name, commits, () => done(storage.commit(commits))),
          // Each commit of a call succeeds or fails by itself. After a broken call, some commits may be stored.
          () => {
            const some = commits.slice(0, this.#parts.chance.below(commits.length + 1))
            witness.commit(process.name, some, () => done(storage.commit(some)))
          },
        ),
      due: (query) =>
        this.#call("due", () => {
          witness.read(process.name)
          return done(Effect.map(storage.due(query), endedEarly))
        }),
      dueHeads: (query) => this.#call("dueHeads", () => done(storage.dueHeads(query))),
      ...(insertNew === undefined
        ? {}
        : {
            insertNew: (shard, timers) =>
              this.#call("insertNew", () =>
                witness.insert(process.name, shard, timers, () => done(insertNew(shard, timers))),
              ),
          }),
      scan: (scans) => this.#call("scan", () => done(storage.scan(scans))),
      namespaces: (exclusiveAfter, limit) =>
        this.#call("namespaces", () => done(storage.namespaces(exclusiveAfter, limit))),
      prune: (beforeMs, limit) => this.#call("prune", () => done(storage.prune(beforeMs, limit))),
      tally: this.#call("tally", () => done(storage.tally)),
    }
  }

  #leasesOverWire(leases: ShardLeases["Service"]): ShardLeases["Service"] {
    const { witness, process } = this.#parts
    return {
      owners: this.#call("owners", () => done(leases.owners)),
      claim: (expected, node) =>
        this.#call("claim", () =>
          witness.claim(process.name, expected, () => done(leases.claim(expected, node))),
        ),
      renew: (held) => this.#call("renew", () => done(leases.renew(held))),
      release: (shard, epoch) => this.#call("release", () => done(leases.release(shard, epoch))),
      announce: (member) => this.#call("announce", () => done(leases.announce(member))),
      members: this.#call("members", () => done(leases.members)),
      retire: (node) => this.#call("retire", () => done(leases.retire(node))),
      retireSilent: (seen) => this.#call("retireSilent", () => done(leases.retireSilent(seen))),
    }
  }

  /** Reads and writes of documents travel as rows, like every other call. */
  documentsOverWire(documents: MemoryDocuments): Documents["Service"] {
    return storeDocuments({
      write: (asked) => this.#call("writeDocument", () => Exit.succeed(documents.write(asked))),
      get: (kind, id) => this.#call("document", () => Exit.succeed(documents.get(kind, id))),
      list: (range) => this.#call("documents", () => Exit.succeed(documents.list(range))),
      changesAfter: (kind, version, limit) =>
        this.#call("documentsAfter", () => Exit.succeed(documents.changesAfter(kind, version, limit))),
    })
  }

  /** The way to the store, the effect, and the way back. `inPart` is what a broken call may still have done. */
  #call<A, E>(
    method: string,
    effect: () => Exit.Exit<A, E>,
    inPart: () => void = effect,
  ): Effect.Effect<A, E | StoreError> {
    const { process, link, chance } = this.#parts
    const world = this.#world
    return Effect.callback((resume) => {
      const answer = (exit: Exit.Exit<A, E | StoreError>, afterUs: number) =>
        world.after(afterUs, () => process.post(() => resume(exit)))
      const fail = (what: string, afterUs: number) => {
        world.trace.note(process.name, () => `${method} fails: ${what}`)
        answer(Exit.fail(new StoreError({ message: `${method}: ${what}`, isFatal: false })), afterUs)
      }
      let isLost = false
      // When a process crashes, some of its calls on the way still arrive.
      const arrives = process.whenCrashed(() => {
        isLost = chance.happens(0.5)
      })
      world.after(this.#tripUs(method), () => {
        arrives()
        if (isLost) return
        const breaksWhere = this.#breaksWhere()
        if (world.nowUs < link.cutUntilUs || breaksWhere === "before") {
          fail("nothing was done", this.#noticedAfterUs())
          return
        }
        if (world.nowUs < link.lateUntilUs && chance.happens(0.2)) {
          world.after(chance.between(longestTripUs, latestUs), () => {
            if (!link.arrivesAt(world.nowUs)) return
            world.trace.note(process.name, () => `${method} arrives late`)
            effect()
          })
          fail("it is still on its way", this.#noticedAfterUs())
          return
        }
        if (breaksWhere === "during") {
          inPart()
          fail("it may have been done", this.#noticedAfterUs())
          return
        }
        const exit = effect()
        const backUs = this.#tripUs(method)
        if (world.nowUs + backUs < link.cutUntilUs) fail("done, but unheard", this.#noticedAfterUs())
        else answer(exit, backUs)
      })
    })
  }

  #tripUs(method: string): number {
    const { link, chance } = this.#parts
    const slowUntilUs = Math.max(link.slowUntilUs, method === "claim" ? link.claimsSlowUntilUs : 0)
    const isSlow = this.#world.nowUs < slowUntilUs && chance.happens(0.3)
    return isSlow ? chance.skewed(20_000, slowestUs) : chance.between(50, longestTripUs)
  }

  #breaksWhere(): "before" | "during" | undefined {
    if (this.#world.nowUs >= this.#parts.link.flakyUntilUs) return undefined
    return this.#parts.chance.weighted([
      [12, "before"],
      [12, "during"],
      [76, undefined],
    ])
  }

  /** The node notices a refused connection at once, and a silent connection after the time limit. */
  #noticedAfterUs(): number {
    const { chance } = this.#parts
    return chance.happens(0.5) ? chance.between(50, longestTripUs) : answerWithinUs
  }
}

/** Some pages end before they are full, as pages of large timers do. */
const endedEarly = (page: DuePage): DuePage => {
  const end = page.timers.findIndex(({ fireId }) => fireId.endsWith("0")) + 1
  return end === 0 || end === page.timers.length ? page : { timers: page.timers.slice(0, end), isLast: false }
}

/** The exit of an effect of the memory storage, which always completes at once. */
export const done = <A, E>(effect: Effect.Effect<A, E>): Exit.Exit<A, E> => Effect.runSyncExit(effect)
