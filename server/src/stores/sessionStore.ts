// A store over sessions of a database server. Writes, reads, claims and renewals have separate sessions. So neither a slow
// write, nor a long list, nor a claim that waits for a fence delays a renewal. This file bounds the calls, classifies
// their failures and builds the services. The adapter gives the work that one call does on one session.

import type { DocumentRow, IdRange, WriteDocument } from "@punctual/documents/DocumentRow"
import { Documents } from "@punctual/documents/Documents"
import { Context, Duration, Effect, Schedule, type Scope } from "effect"
import { ShardLeases } from "../ports/ShardLeases.ts"
import { ShardStorage, type StorageLimits } from "../ports/ShardStorage.ts"
import { StoreClock } from "../ports/StoreClock.ts"
import { StoreError, TimerStore } from "../ports/TimerStore.ts"
import { readClockOffset } from "./clockOffset.ts"
import { decidingStore } from "./DecidingStore.ts"
import { type SessionKind, SessionPool } from "./SessionPool.ts"
import { storeDocuments } from "./StoreDocuments.ts"

/** A call of a port as the work on one session. */
type On<Session, Call> = Call extends (...args: infer Args) => Effect.Effect<infer A, infer _E>
  ? (session: Session, ...args: Args) => Promise<A>
  : Call extends Effect.Effect<infer A, infer _E>
    ? (session: Session) => Promise<A>
    : never

type Storage = Required<Omit<ShardStorage["Service"], "limits" | "open">>
type Leases = ShardLeases["Service"]

/** What an adapter does on a session. */
export interface SessionWork<Session> {
  readonly storage: { readonly [name in keyof Storage]: On<Session, Storage[name]> }
  readonly leases: { readonly [name in keyof Leases]: On<Session, Leases[name]> } & {
    /** Frees the shards of nodes that ran on this machine and have ended. Returns their names. */
    buryTheDead(session: Session): Promise<ReadonlyArray<string>>
  }
  readonly documents: {
    write(session: Session, asked: WriteDocument): Promise<DocumentRow | undefined>
    get(session: Session, kind: string, id: string): Promise<DocumentRow | undefined>
    list(session: Session, range: IdRange): Promise<ReadonlyArray<DocumentRow>>
    changesAfter(
      session: Session,
      kind: string,
      version: number,
      limit: number,
    ): Promise<ReadonlyArray<DocumentRow>>
  }
  /** The database's clock, in epoch milliseconds. */
  clockMs(session: Session): Promise<number>
}

export interface SessionStoreOptions<Session> {
  /** The sessions of writes, claims and renewals. */
  readonly writing: SessionKind<Session>
  readonly reading: SessionKind<Session>
  readonly work: SessionWork<Session>
  readonly shards: number
  readonly limits: Omit<StorageLimits, "concurrentWrites">
  /** How many there are in all. */
  readonly sessions: number
  readonly isFatal: (error: unknown) => boolean
  /** Whether the same call may succeed on a new connection, or a moment later. */
  readonly isTransient: (error: unknown) => boolean
  readonly describe: (error: unknown) => string
  readonly onFatal?: (message: string) => void
}

export const defaultSessions = 8

/** One each for writes, reads, claims and renewals. */
export const fewestSessions = 4

/** A read that failed because of its connection is repeated. A write never is: its caller repeats it. */
const readRetries = 2
const readRetryDelayMs = 100

export const sessionStore = <Session>(
  options: SessionStoreOptions<Session>,
): Effect.Effect<
  Context.Context<TimerStore | ShardStorage | ShardLeases | Documents | StoreClock>,
  never,
  Scope.Scope
> =>
  Effect.gen(function* () {
    const { writing, reading, work } = options
    const total = Math.max(fewestSessions, options.sessions)
    const writers = Math.floor((total - 2) / 2)
    const pools = {
      writes: yield* pooled(writing, writers),
      reads: yield* pooled(reading, total - 2 - writers),
      claims: yield* pooled(writing, 1),
      renewals: yield* pooled(writing, 1),
    }
    const calls = new Calls(options)
    const storage = storageOver(pools, calls, options, writers)
    return Context.make(TimerStore, decidingStore(storage)).pipe(
      Context.add(ShardStorage, storage),
      Context.add(ShardLeases, leasesOver(pools, calls, work.leases)),
      Context.add(Documents, documentsOf(pools, calls, work.documents)),
      Context.add(StoreClock, {
        offsetMs: (nowMs) =>
          calls.again(pools.reads, (session) => readClockOffset(() => work.clockMs(session), nowMs)),
      }),
    )
  })

interface Pools<Session> {
  readonly writes: SessionPool<Session>
  readonly reads: SessionPool<Session>
  readonly claims: SessionPool<Session>
  readonly renewals: SessionPool<Session>
}

const pooled = <Session>(kind: SessionKind<Session>, size: number) =>
  Effect.acquireRelease(
    Effect.sync(() => new SessionPool(kind, size)),
    (pool) => Effect.promise(() => pool.close()),
  )

interface Failure {
  readonly error: unknown
}

type FailureRules = Pick<SessionStoreOptions<never>, "isFatal" | "isTransient" | "describe" | "onFatal">

/** Runs calls on sessions. After a fatal failure nothing may be acknowledged, so it runs no more calls. */
class Calls {
  readonly #rules: FailureRules
  #fate: string | undefined

  constructor(rules: FailureRules) {
    this.#rules = rules
  }

  /** A write is never repeated here, because the result of a failed write is unknown. */
  once<Session, A>(
    pool: SessionPool<Session>,
    use: (session: Session) => Promise<A>,
  ): Effect.Effect<A, StoreError> {
    return Effect.catch(this.#attempt(pool, use), (failure) => this.#failing(failure))
  }

  /** A read is repeated, because reading twice is harmless. */
  again<Session, A>(
    pool: SessionPool<Session>,
    use: (session: Session) => Promise<A>,
  ): Effect.Effect<A, StoreError> {
    const delayed = Schedule.spaced(Duration.millis(readRetryDelayMs))
    return this.#attempt(pool, use).pipe(
      Effect.retry({
        times: readRetries,
        schedule: delayed,
        while: ({ error }) => this.#rules.isTransient(error),
      }),
      Effect.catch((failure) => this.#failing(failure)),
    )
  }

  #attempt<Session, A>(
    pool: SessionPool<Session>,
    use: (session: Session) => Promise<A>,
  ): Effect.Effect<A, Failure> {
    return Effect.tryPromise({
      try: () => {
        if (this.#fate !== undefined) throw new Error(this.#fate)
        return pool.run(use)
      },
      catch: (error): Failure => ({ error }),
    })
  }

  #failing({ error }: Failure): Effect.Effect<never, StoreError> {
    return Effect.suspend(() => {
      const message = this.#rules.describe(error)
      if (this.#fate === undefined && this.#rules.isFatal(error)) {
        this.#fate = message
        this.#rules.onFatal?.(message)
      }
      return new StoreError({ message, isFatal: this.#fate !== undefined })
    })
  }
}

const storageOver = <Session>(
  { writes, reads }: Pools<Session>,
  calls: Calls,
  { work: { storage }, shards, limits }: SessionStoreOptions<Session>,
  concurrentWrites: number,
): ShardStorage["Service"] => ({
  limits: { ...limits, concurrentWrites },
  open: () => Effect.void,
  look: (looks) => calls.again(reads, (session) => storage.look(session, looks)),
  commit: (commits) =>
    withShards(
      shards,
      commits,
      calls.once(writes, (session) => storage.commit(session, commits)),
    ),
  insertNew: (shard, timers) =>
    withShards(
      shards,
      [{ shard }],
      calls.once(writes, (session) => storage.insertNew(session, shard, timers)),
    ),
  due: (query) => calls.again(reads, (session) => storage.due(session, query)),
  dueHeads: (query) => calls.again(reads, (session) => storage.dueHeads(session, query)),
  scan: (scans) => calls.again(reads, (session) => storage.scan(session, scans)),
  count: (scans, limit) => calls.again(reads, (session) => storage.count(session, scans, limit)),
  countByTime: (scans, buckets, limit) =>
    calls.again(reads, (session) => storage.countByTime(session, scans, buckets, limit)),
  namespaces: (exclusiveAfter, limit) =>
    calls.again(reads, (session) => storage.namespaces(session, exclusiveAfter, limit)),
  prune: (exclusiveBeforeMs, limit) =>
    calls.once(writes, (session) => storage.prune(session, exclusiveBeforeMs, limit)),
  tally: calls.again(reads, (session) => storage.tally(session)),
})

const documentsOf = <Session>(
  { writes, reads }: Pools<Session>,
  calls: Calls,
  documents: SessionWork<Session>["documents"],
): Documents["Service"] =>
  storeDocuments({
    write: (asked) => calls.once(writes, (session) => documents.write(session, asked)),
    get: (kind, id) => calls.again(reads, (session) => documents.get(session, kind, id)),
    list: (range) => calls.again(reads, (session) => documents.list(session, range)),
    changesAfter: (kind, version, limit) =>
      calls.again(reads, (session) => documents.changesAfter(session, kind, version, limit)),
  })

const leasesOver = <Session>(
  { claims, renewals }: Pools<Session>,
  calls: Calls,
  leases: SessionWork<Session>["leases"],
): Leases => {
  // Runs before this process first announces itself, so that no node must wait until the lease of a killed process
  // expires.
  let hasBuried = false
  const buryOnce = Effect.suspend(() =>
    hasBuried ? Effect.succeed([]) : calls.once(renewals, (session) => leases.buryTheDead(session)),
  ).pipe(
    Effect.tap((nodes) => {
      hasBuried = true
      return Effect.forEach(nodes, (node) =>
        Effect.logInfo(`${node} ran on this machine and has ended: its shards are free`),
      )
    }),
  )
  return {
    owners: calls.again(renewals, (session) => leases.owners(session)),
    claim: (expected, node) => calls.once(claims, (session) => leases.claim(session, expected, node)),
    renew: (held) => calls.once(renewals, (session) => leases.renew(session, held)),
    release: (shard, epoch) => calls.once(renewals, (session) => leases.release(session, shard, epoch)),
    announce: (member) =>
      Effect.andThen(
        buryOnce,
        calls.once(renewals, (session) => leases.announce(session, member)),
      ),
    members: calls.again(renewals, (session) => leases.members(session)),
    retire: (node) => calls.once(renewals, (session) => leases.retire(session, node)),
    retireSilent: (seen) => calls.once(renewals, (session) => leases.retireSilent(session, seen)),
  }
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
