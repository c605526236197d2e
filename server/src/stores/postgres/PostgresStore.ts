// The default store of a cluster: a schema in a PostgreSQL database that several nodes share. Writes, reads, claims and
// renewals have separate connections. So neither a slow write, nor a long list, nor a claim that waits for a fence
// delays a renewal. This file bounds the calls and classifies their failures. Commits.ts, looks.ts, Reader.ts and
// Leases.ts do the work.

import { Documents } from "@punctual/documents/Documents"
import {
  listDocuments,
  readChanges,
  readDocument,
  writeDocument,
} from "@punctual/documents/postgres/postgresDocuments"
import { DatabaseFailure } from "@punctual/postgres/DatabaseFailure"
import { describeError } from "@punctual/postgres/errorCodes"
import { Context, Duration, Effect, Layer, Schedule, Schema } from "effect"
import { ShardLeases } from "../../ports/ShardLeases.ts"
import { ShardStorage } from "../../ports/ShardStorage.ts"
import { StoreClock } from "../../ports/StoreClock.ts"
import { StoreError, TimerStore } from "../../ports/TimerStore.ts"
import { decidingStore } from "../DecidingStore.ts"
import { storeDocuments } from "../StoreDocuments.ts"
import { commitAll, insertNew, KeyCheck, prune } from "./Commits.ts"
import { Connections, type Place } from "./Connections.ts"
import { readClockOffset } from "./clockOffset.ts"
import { isFatal, isTransient } from "./failures.ts"
import {
  announce,
  buryTheDead,
  claim,
  readMembers,
  readOwners,
  release,
  renew,
  retire,
  retireSilent,
} from "./Leases.ts"
import {
  defaultConnections,
  fewestConnections,
  readRetries,
  readRetryDelayMs,
  writeLimits,
} from "./limits.ts"
import { lookAt } from "./looks.ts"
import { readNames } from "./namespaceNames.ts"
import { openDatabase } from "./openDatabase.ts"
import { readCount, readCountByTime, readDue, readHeads, readScan, readTally } from "./Reader.ts"

export interface PostgresStoreOptions {
  /** postgres://user:password@host:5432/database?schema=punctual */
  readonly url: string
  /** Fixed when the store is created. */
  readonly shards: number
  /** The maximum, at least 4. */
  readonly connections?: number
  /** Called once when the store can no longer be trusted. The process should end. */
  readonly onFatal?: (message: string) => void
}

/** Why the store could not be opened, in a sentence that says what to do. */
export class PostgresOpenError extends Schema.TaggedError<PostgresOpenError>()("PostgresOpenError", {
  reason: Schema.String,
  message: Schema.String,
}) {}

export const PostgresStore = {
  layer: (
    options: PostgresStoreOptions,
  ): Layer.Layer<TimerStore | ShardStorage | ShardLeases | Documents | StoreClock, PostgresOpenError> =>
    Layer.effectContext(
      Effect.gen(function* () {
        const { place, warnings } = yield* opened(options)
        for (const warning of warnings) yield* Effect.logWarning(warning)
        const total = Math.max(fewestConnections, options.connections ?? defaultConnections)
        const writers = Math.floor((total - 2) / 2)
        const pools: ConnectionPools = {
          writes: yield* connected(place, writers),
          reads: yield* connected(place, total - 2 - writers),
          claims: yield* connected(place, 1),
          renewals: yield* connected(place, 1),
        }
        const calls = new Calls(options.onFatal ?? (() => {}))
        const storage = storageOver(pools, calls, options.shards, writers)
        return Context.make(TimerStore, decidingStore(storage)).pipe(
          Context.add(ShardStorage, storage),
          Context.add(ShardLeases, leasesOver(pools, calls)),
          Context.add(Documents, documentsOf(pools, calls)),
          Context.add(StoreClock, {
            offsetMs: (nowMs) => calls.again(pools.reads, (sql) => readClockOffset(sql, nowMs)),
          }),
        )
      }),
    ),
} as const

interface ConnectionPools {
  readonly writes: Connections
  readonly reads: Connections
  readonly claims: Connections
  readonly renewals: Connections
}

const opened = ({ url, shards }: PostgresStoreOptions) =>
  Effect.tryPromise({
    try: () => openDatabase(url, shards),
    catch: (error) =>
      error instanceof DatabaseFailure
        ? new PostgresOpenError({ reason: error.reason, message: error.message })
        : new PostgresOpenError({ reason: "failed", message: String(error) }),
  })

const connected = (place: Place, size: number) =>
  Effect.acquireRelease(
    Effect.sync(() => new Connections(place, size)),
    (connections) => Effect.promise(() => connections.close()),
  )

interface Failure {
  readonly error: unknown
}

/** Runs calls on connections. After a fatal failure nothing may be acknowledged, so it runs no more calls. */
class Calls {
  readonly #onFatal: (message: string) => void
  #fate: string | undefined

  constructor(onFatal: (message: string) => void) {
    this.#onFatal = onFatal
  }

  /** A write is never repeated here, because the result of a failed write is unknown. */
  once<A>(connections: Connections, use: (sql: Bun.SQL) => Promise<A>): Effect.Effect<A, StoreError> {
    return Effect.catch(this.#attempt(connections, use), (failure) => this.#failing(failure))
  }

  /** A read is repeated, because reading twice is harmless. */
  again<A>(connections: Connections, use: (sql: Bun.SQL) => Promise<A>): Effect.Effect<A, StoreError> {
    const delayed = Schedule.spaced(Duration.millis(readRetryDelayMs))
    return this.#attempt(connections, use).pipe(
      Effect.retry({ times: readRetries, schedule: delayed, while: ({ error }) => isTransient(error) }),
      Effect.catch((failure) => this.#failing(failure)),
    )
  }

  #attempt<A>(connections: Connections, use: (sql: Bun.SQL) => Promise<A>): Effect.Effect<A, Failure> {
    return Effect.tryPromise({
      try: () => {
        if (this.#fate !== undefined) throw new Error(this.#fate)
        return connections.run(use)
      },
      catch: (error): Failure => ({ error }),
    })
  }

  #failing({ error }: Failure): Effect.Effect<never, StoreError> {
    return Effect.suspend(() => {
      const message = describeError(error)
      if (this.#fate === undefined && isFatal(error)) {
        this.#fate = message
        this.#onFatal(message)
      }
      return new StoreError({ message, isFatal: this.#fate !== undefined })
    })
  }
}

const storageOver = (
  { writes, reads }: ConnectionPools,
  calls: Calls,
  shards: number,
  concurrentWrites: number,
): ShardStorage["Service"] => {
  const keyCheck = new KeyCheck()
  return {
    limits: { ...writeLimits, concurrentWrites },
    open: () => Effect.void,
    look: (looks) => calls.again(reads, (sql) => lookAt(sql, looks)),
    commit: (commits) =>
      withShards(
        shards,
        commits,
        calls.once(writes, (sql) => commitAll(sql, commits, keyCheck)),
      ),
    insertNew: (shard, timers) =>
      withShards(
        shards,
        [{ shard }],
        calls.once(writes, (sql) => insertNew(sql, shard, timers)),
      ),
    due: (query) => calls.again(reads, (sql) => readDue(sql, query)),
    dueHeads: (query) => calls.again(reads, (sql) => readHeads(sql, query)),
    scan: (scans) => calls.again(reads, (sql) => readScan(sql, scans)),
    count: (scans, limit) => calls.again(reads, (sql) => readCount(sql, scans, limit)),
    countByTime: (scans, buckets, limit) =>
      calls.again(reads, (sql) => readCountByTime(sql, scans, buckets, limit)),
    namespaces: (exclusiveAfter, limit) => calls.again(reads, (sql) => readNames(sql, exclusiveAfter, limit)),
    prune: (exclusiveBeforeMs, limit) => calls.once(writes, (sql) => prune(sql, exclusiveBeforeMs, limit)),
    tally: calls.again(reads, readTally),
  }
}

const documentsOf = ({ writes, reads }: ConnectionPools, calls: Calls): Documents["Service"] =>
  storeDocuments({
    write: (asked) => calls.once(writes, (sql) => writeDocument(sql, asked)),
    get: (kind, id) => calls.again(reads, (sql) => readDocument(sql, kind, id)),
    list: (range) => calls.again(reads, (sql) => listDocuments(sql, range)),
    changesAfter: (kind, version, limit) =>
      calls.again(reads, (sql) => readChanges(sql, kind, version, limit)),
  })

const leasesOver = ({ claims, renewals }: ConnectionPools, calls: Calls): ShardLeases["Service"] => {
  // Runs before this process first announces itself, so that no node must wait until the lease of a killed process
  // expires.
  let hasBuried = false
  const buryOnce = Effect.suspend(() =>
    hasBuried ? Effect.succeed([]) : calls.once(renewals, buryTheDead),
  ).pipe(
    Effect.tap((nodes) => {
      hasBuried = true
      return Effect.forEach(nodes, (node) =>
        Effect.logInfo(`${node} ran on this machine and has ended: its shards are free`),
      )
    }),
  )
  return {
    owners: calls.again(renewals, readOwners),
    claim: (expected, node) => calls.once(claims, (sql) => claim(sql, expected, node)),
    renew: (held) => calls.once(renewals, (sql) => renew(sql, held)),
    release: (shard, epoch) => calls.once(renewals, (sql) => release(sql, shard, epoch)),
    announce: (member) =>
      Effect.andThen(
        buryOnce,
        calls.once(renewals, (sql) => announce(sql, member)),
      ),
    members: calls.again(renewals, readMembers),
    retire: (node) => calls.once(renewals, (sql) => retire(sql, node)),
    retireSilent: (seen) => calls.once(renewals, (sql) => retireSilent(sql, seen)),
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
