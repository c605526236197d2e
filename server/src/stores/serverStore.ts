// The services of a store on a database server. An adapter gives the work that one call does on one session, or on
// whatever its driver has instead. This file classifies failures, repeats reads, and builds the services of the ports.
// Writes, reads, claims and renewals run in separate lanes. So neither a slow write, nor a long list, nor a claim that
// waits for a fence delays a renewal.
import type { DocumentCalls } from "@punctual/documents/DocumentRow"
import { Documents } from "@punctual/documents/Documents"
import { Context, Duration, Effect, Schedule, type Scope } from "effect"
import { type Known, nothingKnown, type Tally, tallyOfAll } from "../domain/Decision.ts"
import { type Announcement, type Lease, type Member, ShardLeases } from "../ports/ShardLeases.ts"
import { type Look, ShardStorage } from "../ports/ShardStorage.ts"
import { StoreClock } from "../ports/StoreClock.ts"
import { StoreError, TimerStore } from "../ports/TimerStore.ts"
import { readClockOffset } from "./clockOffset.ts"
import { decidingStore } from "./DecidingStore.ts"
import { hasEnded, processHere } from "./ProcessIdentity.ts"
import { storeDocuments } from "./StoreDocuments.ts"
import { canBeKey, isFireId } from "./whyUnstorable.ts"

/** A call of a port as the work on one session. */
type On<Session, Call> = Call extends (...args: infer Args) => Effect.Effect<infer A, infer _E>
  ? (session: Session, ...args: Args) => Promise<A>
  : Call extends Effect.Effect<infer A, infer _E>
    ? (session: Session) => Promise<A>
    : never

type Storage = Omit<ShardStorage["Service"], "limits" | "open" | "tally"> &
  Partial<Pick<ShardStorage["Service"], "open">>
type Leases = ShardLeases["Service"]

export type HeldLeases = ReadonlyArray<Pick<Lease, "shard" | "epoch">>

/** Shard leases and members in a database. */
export interface LeaseWork<Session> {
  owners(session: Session): Promise<ReadonlyArray<Lease>>
  claim(session: Session, expected: Lease, node: string): Promise<Lease | undefined>
  renew: On<Session, Leases["renew"]>
  /** Frees the shards that still have these epochs. */
  release(session: Session, held: HeldLeases): Promise<unknown>
  /** False if the name belongs to another process than this one. */
  announce(session: Session, member: Announcement, process: string): Promise<boolean>
  members(session: Session): Promise<ReadonlyArray<Member>>
  /** Removes the entry of a node, if it belongs to the process and has the beat. Without a beat, any will do. */
  remove(session: Session, entry: MemberEntry): Promise<boolean>
}

export type MemberEntry = Pick<Member, "node" | "process"> & Partial<Pick<Member, "beat">>

/** What an adapter does on a session. */
export interface ServerWork<Session> {
  readonly storage: { readonly [name in keyof Storage]: On<Session, NonNullable<Storage[name]>> }
  /** The tally of each shard, or parts of tallies: their sum is the tally of the store. */
  tallies(session: Session): Promise<ReadonlyArray<Partial<Tally>>>
  readonly leases: LeaseWork<Session>
  documents(session: Session): DocumentCalls
  /** The database's clock, in epoch milliseconds. */
  clockMs?(session: Session): Promise<number>
}

/** Runs work on a session of a lane. */
export type ServerLane<Session> = <A>(use: (session: Session) => Promise<A>) => Promise<A>

export interface ServerLanes<Session> {
  readonly writes: ServerLane<Session>
  readonly reads: ServerLane<Session>
  readonly claims: ServerLane<Session>
  readonly renewals: ServerLane<Session>
}

/** For a driver that shares its connections between calls by itself. `ofLeases` has connections of its own. */
export const lanesOver = <Session>(session: Session, ofLeases: Session = session): ServerLanes<Session> => {
  const lane: ServerLane<Session> = (use) => use(session)
  const leases: ServerLane<Session> = (use) => use(ofLeases)
  return { writes: lane, reads: lane, claims: leases, renewals: leases }
}

/** What the errors of a database mean. */
export interface FailureRules {
  isFatal(error: unknown): boolean
  /** Whether the same read may succeed on a new connection, or a moment later. */
  isTransient(error: unknown): boolean
  describe(error: unknown): string
}

export interface ServerStoreOptions<Session> {
  readonly lanes: ServerLanes<Session>
  readonly work: ServerWork<Session>
  readonly shards: number
  readonly limits: ShardStorage["Service"]["limits"]
  readonly rules: FailureRules
  /** Called once when the store can no longer be trusted. */
  readonly onFatal?: ((message: string) => void) | undefined
  /** Work that the store does from time to time, until its scope closes. */
  readonly upkeep?: { readonly everyMs: number; run(session: Session): Promise<void> }
}

export type ServerServices = TimerStore | ShardStorage | ShardLeases | Documents

/** A read that failed because of its connection is repeated. A write never is: its caller repeats it. */
const readRetries = 2
const readRetryDelayMs = 100

export const serverStore = <Session>(
  options: ServerStoreOptions<Session>,
): Effect.Effect<Context.Context<ServerServices | StoreClock>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { lanes, work, upkeep } = options
    const calls = new Calls(options.rules, options.onFatal)
    const storage = storageOver(calls, options)
    if (upkeep !== undefined) {
      const run = Effect.ignore(calls.once(lanes.writes, (session) => upkeep.run(session)))
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(upkeep.everyMs), run)))
    }
    const services = Context.make(TimerStore, decidingStore(storage)).pipe(
      Context.add(ShardStorage, storage),
      Context.add(ShardLeases, leasesOver(lanes, calls, work.leases)),
      Context.add(Documents, documentsOver(lanes, calls, work)),
    )
    const { clockMs } = work
    // Whoever asks for the clock finds it missing, as with a store without one.
    if (clockMs === undefined) return services as Context.Context<ServerServices | StoreClock>
    return Context.add(services, StoreClock, {
      offsetMs: (nowMs) =>
        calls.again(lanes.reads, (session) => readClockOffset(() => clockMs(session), nowMs)),
    })
  })

/** Runs calls. After a fatal failure nothing may be acknowledged, so it runs no more calls. */
class Calls {
  readonly #rules: FailureRules
  readonly #onFatal: ((message: string) => void) | undefined
  #fate: string | undefined

  constructor(rules: FailureRules, onFatal: ((message: string) => void) | undefined) {
    this.#rules = rules
    this.#onFatal = onFatal
  }

  /** A write is never repeated here, because the result of a failed write is unknown. */
  once<Session, A>(
    lane: ServerLane<Session>,
    use: (session: Session) => Promise<A>,
  ): Effect.Effect<A, StoreError> {
    return Effect.catch(this.#attempt(lane, use), ({ error }) => this.#failing(error))
  }

  /** A read is repeated, because reading twice is harmless. */
  again<Session, A>(
    lane: ServerLane<Session>,
    use: (session: Session) => Promise<A>,
  ): Effect.Effect<A, StoreError> {
    return this.#attempt(lane, use).pipe(
      Effect.retry({
        times: readRetries,
        schedule: Schedule.spaced(Duration.millis(readRetryDelayMs)),
        while: ({ error }) => this.#rules.isTransient(error),
      }),
      Effect.catch(({ error }) => this.#failing(error)),
    )
  }

  #attempt<Session, A>(
    lane: ServerLane<Session>,
    use: (session: Session) => Promise<A>,
  ): Effect.Effect<A, { readonly error: unknown }> {
    return Effect.tryPromise({
      try: () => {
        if (this.#fate !== undefined) throw new Error(this.#fate)
        return lane(use)
      },
      catch: (error) => ({ error }),
    })
  }

  #failing(error: unknown): Effect.Effect<never, StoreError> {
    return Effect.suspend(() => {
      const message = this.#rules.describe(error)
      if (this.#fate === undefined && this.#rules.isFatal(error)) {
        this.#fate = message
        this.#onFatal?.(message)
      }
      return new StoreError({ message, isFatal: this.#fate !== undefined })
    })
  }
}

const storageOver = <Session>(
  calls: Calls,
  { lanes: { writes, reads }, work: { storage, tallies }, shards, limits }: ServerStoreOptions<Session>,
): ShardStorage["Service"] => {
  const { open, insertNew, count, countByTime } = storage
  return {
    limits,
    open: (shard, epoch) =>
      open === undefined
        ? Effect.void
        : withShards(
            shards,
            [{ shard }],
            calls.once(writes, (session) => open(session, shard, epoch)),
          ),
    look: (looks) => {
      const { sound, inPlaces } = soundLooks(looks)
      if (sound.length === 0) return Effect.succeed(inPlaces([]))
      return Effect.map(
        calls.again(reads, (session) => storage.look(session, sound)),
        inPlaces,
      )
    },
    commit: (commits) =>
      withShards(
        shards,
        commits,
        calls.once(writes, (session) => storage.commit(session, commits)),
      ),
    due: (query) => calls.again(reads, (session) => storage.due(session, query)),
    dueHeads: (query) => calls.again(reads, (session) => storage.dueHeads(session, query)),
    scan: (scans) => calls.again(reads, (session) => storage.scan(session, scans)),
    namespaces: (exclusiveAfter, limit) =>
      calls.again(reads, (session) => storage.namespaces(session, exclusiveAfter, limit)),
    prune: (exclusiveBeforeMs, limit) =>
      calls.once(writes, (session) => storage.prune(session, exclusiveBeforeMs, limit)),
    tally: Effect.map(calls.again(reads, tallies), (parts) => tallyOfAll(parts.map((tally) => ({ tally })))),
    ...(insertNew && {
      insertNew: (shard, timers) =>
        withShards(
          shards,
          [{ shard }],
          calls.once(writes, (session) => insertNew(session, shard, timers)),
        ),
    }),
    ...(count && {
      count: (scans, limit) => calls.again(reads, (session) => count(session, scans, limit)),
    }),
    ...(countByTime && {
      countByTime: (scans, buckets, limit) =>
        calls.again(reads, (session) => countByTime(session, scans, buckets, limit)),
    }),
  }
}

const documentsOver = <Session>(
  { writes, reads }: ServerLanes<Session>,
  calls: Calls,
  { documents }: ServerWork<Session>,
): Documents["Service"] =>
  storeDocuments({
    write: (asked) => calls.once(writes, (session) => documents(session).write(asked)),
    get: (kind, id) => calls.again(reads, (session) => documents(session).get(kind, id)),
    list: (range) => calls.again(reads, (session) => documents(session).list(range)),
    changesAfter: (kind, version, limit) =>
      calls.again(reads, (session) => documents(session).changesAfter(kind, version, limit)),
  })

const leasesOver = <Session>(
  { claims, renewals }: ServerLanes<Session>,
  calls: Calls,
  leases: LeaseWork<Session>,
): Leases => {
  /**
   * Frees the shards of nodes that ran on this machine and have ended. The leases are read before the entry of the node is
   * removed. So a new process with the same name keeps its shards: it has claimed them under higher epochs.
   */
  const buryTheDead = async (session: Session): Promise<ReadonlyArray<Member>> => {
    const dead = (await leases.members(session)).filter(({ process }) => hasEnded(process))
    const owners = dead.length === 0 ? [] : await leases.owners(session)
    const buried: Array<Member> = []
    for (const member of dead) {
      const { node, process } = member
      if (!(await leases.remove(session, { node, process }))) continue
      buried.push(member)
      const held = owners.filter((lease) => lease.node === node)
      if (held.length > 0) await leases.release(session, held)
    }
    return buried
  }
  // Runs before this process first announces itself, so that no node must wait until the lease of a killed process
  // expires.
  let hasBuried = false
  const buryOnce = Effect.suspend(() =>
    hasBuried ? Effect.succeed([]) : calls.once(renewals, buryTheDead),
  ).pipe(
    Effect.tap((dead) => {
      hasBuried = true
      return Effect.forEach(dead, ({ node }) =>
        Effect.logInfo(`${node} ran on this machine and has ended: its shards are free`),
      )
    }),
  )
  const removed = (entry: MemberEntry) =>
    Effect.asVoid(calls.once(renewals, (session) => leases.remove(session, entry)))
  return {
    owners: calls.again(renewals, (session) => leases.owners(session)),
    claim: (expected, node) => calls.once(claims, (session) => leases.claim(session, expected, node)),
    renew: (held) =>
      held.length === 0 ? Effect.succeed([]) : calls.once(renewals, (session) => leases.renew(session, held)),
    release: (shard, epoch) =>
      Effect.asVoid(calls.once(renewals, (session) => leases.release(session, [{ shard, epoch }]))),
    announce: (member) =>
      Effect.andThen(
        buryOnce,
        calls.once(renewals, (session) => leases.announce(session, member, processHere())),
      ),
    members: calls.again(renewals, (session) => leases.members(session)),
    retire: (node) => removed({ node, process: processHere() }),
    // A process that is alive again has another beat, and keeps its name.
    retireSilent: ({ node, process, beat }) => removed({ node, process, beat }),
  }
}

/** A key or a fireId that cannot be stored is left out: nothing is stored under it, and a database may refuse it. */
const soundLooks = (looks: ReadonlyArray<Look>) => {
  const sound = looks
    .filter(({ key }) => canBeKey(key))
    .map((look) =>
      look.lives === undefined
        ? look
        : { ...look, lives: look.lives.filter(({ fireId }) => isFireId(fireId)) },
    )
  const inPlaces = (found: ReadonlyArray<Known>): ReadonlyArray<Known> => {
    if (sound.length === looks.length) return found
    let next = 0
    return looks.map(({ key }) => (canBeKey(key) ? (found[next++] ?? nothingKnown) : nothingKnown))
  }
  return { sound, inPlaces }
}

/** A request for a shard that does not exist is an error of the program, not of a caller. */
const withShards = <A>(
  shards: number,
  named: ReadonlyArray<{ readonly shard: number }>,
  run: Effect.Effect<A, StoreError>,
): Effect.Effect<A, StoreError> => {
  const unknown = named.find(({ shard }) => !(shard >= 0 && shard < shards))
  return unknown === undefined
    ? run
    : Effect.fail(new StoreError({ message: `The store has no shard ${unknown.shard}.`, isFatal: false }))
}
