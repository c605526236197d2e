// A database of MongoDB, or of a server that speaks its protocol, as a store that several nodes share. It needs no
// transactions of several documents: Commits.ts says why. This file bounds the calls and classifies their failures.
// Leases have their own connections, so neither a slow commit nor a long list delays a renewal.
import { Documents } from "@punctual/documents/Documents"
import type { Commands } from "@punctual/documents/mongodb/Commands"
import {
  listDocuments,
  readChanges,
  readDocument,
  writeDocument,
} from "@punctual/documents/mongodb/mongodbDocuments"
import { Context, Duration, Effect, Layer, Schedule, Schema } from "effect"
import { ShardLeases } from "../../ports/ShardLeases.ts"
import { ShardStorage } from "../../ports/ShardStorage.ts"
import { StoreClock } from "../../ports/StoreClock.ts"
import { StoreError, TimerStore } from "../../ports/TimerStore.ts"
import { decidingStore } from "../DecidingStore.ts"
import { storeDocuments } from "../StoreDocuments.ts"
import { Commits } from "./Commits.ts"
import { isFatal, isTransient, mongodbErrorText } from "./failures.ts"
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
  leaseConnections,
  readRetries,
  readRetryDelayMs,
  settleIdleEveryMs,
  writeLimits,
} from "./limits.ts"
import { lookAt } from "./looks.ts"
import type { MongodbAddress } from "./mongodbUrl.ts"
import { commandsTo, openDatabase, serverTimeMs } from "./openDatabase.ts"
import { prune } from "./pruning.ts"
import { readCount, readDue, readHeads, readNames, readScan, readTally } from "./Reader.ts"

export interface MongodbStoreOptions {
  readonly address: MongodbAddress
  /** Fixed when the store is created. */
  readonly shards: number
  /** The maximum for commits and reads. */
  readonly connections?: number
  /** Called once when the store can no longer be trusted. The process should end. */
  readonly onFatal?: (message: string) => void
}

export class MongodbOpenError extends Schema.TaggedError<MongodbOpenError>()("MongodbOpenError", {
  message: Schema.String,
}) {}

export const MongodbStore = {
  layer: (
    options: MongodbStoreOptions,
  ): Layer.Layer<TimerStore | ShardStorage | ShardLeases | Documents | StoreClock, MongodbOpenError> =>
    Layer.effectContext(
      Effect.gen(function* () {
        const { address, shards, connections = defaultConnections } = options
        const warnings = yield* opening(() => openDatabase(address, shards))
        for (const warning of warnings) yield* Effect.logWarning(warning)
        const work = yield* connected(address, connections)
        const leases = yield* connected(address, leaseConnections)
        const calls = new Calls(options.onFatal ?? (() => {}))
        const commits = new Commits(work)
        const storage = storageOver(work, commits, calls, shards, Math.max(1, Math.floor(connections / 2)))
        const settleIdle = Effect.ignore(calls.once(() => commits.settleIdle()))
        yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(settleIdleEveryMs), settleIdle)))
        return Context.make(TimerStore, decidingStore(storage)).pipe(
          Context.add(ShardStorage, storage),
          Context.add(ShardLeases, leasesOver(leases, calls)),
          Context.add(Documents, documentsOf(work, calls)),
          Context.add(StoreClock, { offsetMs: (nowMs) => calls.again(() => clockOffset(work, nowMs)) }),
        )
      }),
    ),
} as const

/** `open` fails with an explained error. */
export const opening = <A>(open: () => Promise<A>): Effect.Effect<A, MongodbOpenError> =>
  Effect.tryPromise({
    try: open,
    catch: (error) => new MongodbOpenError({ message: mongodbErrorText(error) }),
  })

const connected = (address: MongodbAddress, connections: number) =>
  Effect.acquireRelease(
    Effect.sync(() => commandsTo(address, { connections })),
    (commands) => Effect.promise(() => commands.close()),
  )

/** Runs calls. After a fatal failure nothing may be acknowledged, so it runs no more calls. */
class Calls {
  readonly #onFatal: (message: string) => void
  #fate: string | undefined

  constructor(onFatal: (message: string) => void) {
    this.#onFatal = onFatal
  }

  /** A write is never repeated here, because the result of a failed write is unknown. */
  once<A>(call: () => Promise<A>): Effect.Effect<A, StoreError> {
    return Effect.catch(this.#attempt(call), ({ error }) => this.#failing(error))
  }

  /** A read is repeated, because reading twice is harmless. */
  again<A>(call: () => Promise<A>): Effect.Effect<A, StoreError> {
    const schedule = Schedule.spaced(Duration.millis(readRetryDelayMs))
    return this.#attempt(call).pipe(
      Effect.retry({ times: readRetries, schedule, while: ({ error }) => isTransient(error) }),
      Effect.catch(({ error }) => this.#failing(error)),
    )
  }

  #attempt<A>(call: () => Promise<A>): Effect.Effect<A, { readonly error: unknown }> {
    return Effect.tryPromise({
      try: () => {
        if (this.#fate !== undefined) throw new Error(this.#fate)
        return call()
      },
      catch: (error) => ({ error }),
    })
  }

  #failing(error: unknown): Effect.Effect<never, StoreError> {
    return Effect.suspend(() => {
      const message = mongodbErrorText(error)
      if (this.#fate === undefined && isFatal(error)) {
        this.#fate = message
        this.#onFatal(message)
      }
      return new StoreError({ message, isFatal: this.#fate !== undefined })
    })
  }
}

const storageOver = (
  commands: Commands,
  commits: Commits,
  calls: Calls,
  shards: number,
  concurrentWrites: number,
): ShardStorage["Service"] => {
  const isShard = (shard: number) => shard >= 0 && shard < shards
  /** A request for a shard that does not exist is an error of the program, not of a caller. */
  const onShards = <A>(
    named: ReadonlyArray<number>,
    call: () => Promise<A>,
  ): Effect.Effect<A, StoreError> => {
    const unknown = named.find((shard) => !isShard(shard))
    return unknown === undefined
      ? calls.once(call)
      : Effect.fail(new StoreError({ message: `The store has no shard ${unknown}.`, isFatal: false }))
  }
  return {
    limits: { ...writeLimits, concurrentWrites },
    open: (shard) => onShards([shard], () => commits.settle(shard)).pipe(Effect.asVoid),
    look: (looks) => calls.again(() => lookAt(commands, (shard) => commits.help(shard), looks)),
    commit: (sent) =>
      onShards(
        sent.map(({ shard }) => shard),
        () => Promise.all(sent.map((commit) => commits.commit(commit))),
      ),
    insertNew: (shard, timers) => onShards([shard], () => commits.insertNew(shard, timers)),
    due: (query) => calls.again(() => readDue(commands, query)),
    dueHeads: (query) => calls.again(() => readHeads(commands, query)),
    scan: (scans) => calls.again(() => readScan(commands, scans)),
    count: (scans, limit) => calls.again(() => readCount(commands, scans, limit)),
    namespaces: (after, limit) => calls.again(() => readNames(commands, after, limit)),
    prune: (beforeMs, limit) => calls.once(() => prune(commands, beforeMs, limit)),
    tally: calls.again(() => readTally(commands)),
  }
}

const leasesOver = (commands: Commands, calls: Calls): ShardLeases["Service"] => {
  const commits = new Commits(commands)
  // Runs before this process first announces itself, so that no node must wait until the lease of a killed process
  // expires.
  let hasBuried = false
  const buryOnce = Effect.suspend(() =>
    hasBuried ? Effect.succeed([]) : calls.once(() => buryTheDead(commands)),
  ).pipe(
    Effect.tap((nodes) => {
      hasBuried = true
      return Effect.forEach(nodes, (node) =>
        Effect.logInfo(`${node} ran on this machine and has ended: its shards are free`),
      )
    }),
  )
  return {
    owners: calls.again(() => readOwners(commands)),
    claim: (expected, node) => calls.once(() => claim(commands, commits, expected, node)),
    renew: (held) => calls.once(() => renew(commands, commits, held)),
    release: (shard, epoch) => calls.once(() => release(commands, shard, epoch)),
    announce: (member) =>
      Effect.andThen(
        buryOnce,
        calls.once(() => announce(commands, member)),
      ),
    members: calls.again(() => readMembers(commands)),
    retire: (node) => calls.once(() => retire(commands, node)),
    retireSilent: (seen) => calls.once(() => retireSilent(commands, seen)),
  }
}

const documentsOf = (commands: Commands, calls: Calls): Documents["Service"] =>
  storeDocuments({
    write: (asked) => calls.once(() => writeDocument(commands, asked)),
    get: (kind, id) => calls.again(() => readDocument(commands, kind, id)),
    list: (range) => calls.again(() => listDocuments(commands, range)),
    changesAfter: (kind, version, limit) => calls.again(() => readChanges(commands, kind, version, limit)),
  })

/** Assumes that the server read its clock halfway between sending and receiving. */
export const clockOffset = async (commands: Commands, nowMs: () => number): Promise<number> => {
  const sentMs = nowMs()
  const serverMs = await serverTimeMs(commands)
  return Math.round((sentMs + nowMs()) / 2 - serverMs)
}
