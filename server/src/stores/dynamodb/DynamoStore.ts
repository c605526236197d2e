// A store on DynamoDB, which nodes share. The design is in docs/adr/0096. This file opens it, classifies failures, and
// gives the ports their services. A failed commit has an unknown result, as in every store.

import { CredentialSource } from "@punctual/aws/AwsCredentials"
import { DynamoClient } from "@punctual/aws/DynamoClient"
import { DynamoTables } from "@punctual/aws/DynamoTables"
import type { DynamoPlace } from "@punctual/aws/dynamoUrl"
import { describeFailure, isFatalFailure } from "@punctual/aws/TablesRefused"
import { Documents } from "@punctual/documents/Documents"
import { DynamoDocuments } from "@punctual/documents/dynamodb/DynamoDocuments"
import { Context, Effect, Layer, Schema } from "effect"
import { emptyTally, type Tally } from "../../domain/Decision.ts"
import { ShardLeases } from "../../ports/ShardLeases.ts"
import { ShardStorage } from "../../ports/ShardStorage.ts"
import { StoreError, TimerStore } from "../../ports/TimerStore.ts"
import { decidingStore } from "../DecidingStore.ts"
import { storeDocuments } from "../StoreDocuments.ts"
import { Commits } from "./Commits.ts"
import type { Database } from "./Database.ts"
import { readDue, readHeads } from "./dueReads.ts"
import { fencePlace, insertedPlace } from "./keys.ts"
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
import { concurrentWrites, requestsOfCommand, requestsOfService, writeLimits } from "./limits.ts"
import { lookAt } from "./looks.ts"
import { readNames } from "./namespaceNames.ts"
import { openTables } from "./openTables.ts"
import { Pruning } from "./prune.ts"
import { readCount, readScans } from "./scans.ts"

export interface DynamoStoreOptions {
  readonly place: DynamoPlace
  /** Fixed when the store is created. */
  readonly shards: number
  readonly historyRetentionMs?: number
  readonly connections?: "few"
  readonly onFatal?: (message: string) => void
}

/** Why the store could not be opened, in a sentence that says what to do. */
export class DynamoOpenError extends Schema.TaggedError<DynamoOpenError>()("DynamoOpenError", {
  message: Schema.String,
}) {}

export const tablesAt = (
  { region, endpoint, credentials: given }: DynamoPlace,
  requestsAtOnce: number = requestsOfCommand,
): DynamoTables => {
  const nowMs = Date.now
  const credentials = new CredentialSource({ given, region, environment: process.env, nowMs })
  return new DynamoTables(new DynamoClient({ region, endpoint, credentials, requestsAtOnce, nowMs }))
}

/** Turns a failure of an opening into its error. */
export const opening = <A>(open: () => Promise<A>): Effect.Effect<A, DynamoOpenError> =>
  Effect.tryPromise({ try: open, catch: (error) => new DynamoOpenError({ message: describeFailure(error) }) })

export const DynamoStore = {
  layer: (
    options: DynamoStoreOptions,
  ): Layer.Layer<TimerStore | ShardStorage | ShardLeases | Documents, DynamoOpenError> =>
    Layer.effectContext(
      Effect.gen(function* () {
        const { place, shards, historyRetentionMs, connections, onFatal = () => {} } = options
        const tables = tablesAt(place, connections === "few" ? requestsOfCommand : requestsOfService)
        const { names } = yield* opening(() => openTables(tables, place.prefix, shards))
        const database = {
          tables,
          names,
          shards,
          ...(historyRetentionMs === undefined ? {} : { historyRetentionMs }),
        }
        const calling = callsOf(onFatal)
        const services = yield* Effect.context<never>()
        const warn = (message: string) => Effect.runForkWith(services)(Effect.logWarning(message))
        const storage = storageOver(database, new Commits(database, warn), calling)
        return Context.make(TimerStore, decidingStore(storage)).pipe(
          Context.add(ShardStorage, storage),
          Context.add(ShardLeases, leasesOver(database, calling)),
          Context.add(Documents, documentsAt(tables, names.control, calling)),
        )
      }),
    ),
} as const

/** Runs a call and turns its failure into the error of the store. */
export type Calling = <A>(call: () => Promise<A>) => Effect.Effect<A, StoreError>

/** After a fatal failure nothing may be acknowledged, so no more calls are made. */
export const callsOf = (onFatal: (message: string) => void): Calling => {
  let fate: string | undefined
  return (call) =>
    Effect.tryPromise({
      try: () => (fate === undefined ? call() : Promise.reject(new Error(fate))),
      catch: (error) => {
        const message = describeFailure(error)
        if (fate === undefined && isFatalFailure(error)) {
          fate = message
          onFatal(message)
        }
        return new StoreError({ message, isFatal: fate !== undefined })
      },
    })
}

const storageOver = (database: Database, commits: Commits, calling: Calling): ShardStorage["Service"] => {
  const pruning = new Pruning(database)
  const withShard = <A>(shard: number, call: () => Promise<A>): Effect.Effect<A, StoreError> =>
    shard >= 0 && shard < database.shards
      ? calling(call)
      : Effect.fail(new StoreError({ message: `The store has no shard ${shard}.`, isFatal: false }))
  return {
    limits: { ...writeLimits, concurrentWrites },
    open: () => Effect.void,
    look: (looks) => calling(() => lookAt(database, looks)),
    commit: (all) => {
      const unknown = all.find(({ shard }) => !(shard >= 0 && shard < database.shards))
      return withShard(unknown?.shard ?? 0, () => commits.commitAll(all))
    },
    insertNew: (shard, timers) => withShard(shard, () => commits.insertNew(shard, timers)),
    due: (query) => calling(() => readDue(database, query)),
    dueHeads: (query) => calling(() => readHeads(database, query)),
    scan: (scans) => calling(() => readScans(database, scans)),
    count: (scans, limit) => calling(() => readCount(database, scans, limit)),
    namespaces: (exclusiveAfter, limit) => calling(() => readNames(database, exclusiveAfter, limit)),
    prune: (exclusiveBeforeMs, limit) => calling(() => pruning.prune(exclusiveBeforeMs, limit)),
    tally: calling(async () => {
      const tallies = await readTallies(database)
      return tallies.reduce((sum, tally) => addAll(sum, tally), emptyTally)
    }),
  }
}

/** The tally of each shard. */
export const readTallies = async ({ tables, names, shards }: Database): Promise<ReadonlyArray<Tally>> => {
  const all = Array.from({ length: shards }, (_, shard) => shard)
  const places = all.flatMap((shard) => [fencePlace(names, shard), insertedPlace(names, shard)])
  const items = await tables.getAll(
    names.control,
    places.map(({ key }) => key),
  )
  const byKey = new Map(items.map((item) => [String(item["pk"]), item]))
  return all.map((shard) =>
    addAll(addAll(emptyTally, byKey.get(`fence#${shard}`)), byKey.get(`inserted#${shard}`)),
  )
}

const addAll = (sum: Tally, item: object | undefined): Tally => {
  const counted: Record<string, unknown> = { ...item }
  const entries = Object.entries(sum).map(([name, count]) => [name, count + Number(counted[name] ?? 0)])
  // The names are those of the tally.
  return Object.fromEntries(entries) as unknown as Tally
}

export const documentsAt = (tables: DynamoTables, table: string, calling: Calling): Documents["Service"] => {
  const documents = new DynamoDocuments(tables, table)
  return storeDocuments({
    write: (asked) => calling(() => documents.write(asked)),
    get: (kind, id) => calling(() => documents.get(kind, id)),
    list: (range) => calling(() => documents.list(range)),
    changesAfter: (kind, version, limit) => calling(() => documents.changesAfter(kind, version, limit)),
  })
}

const leasesOver = (database: Database, calling: Calling): ShardLeases["Service"] => {
  // Runs before this process first announces itself, so that no node must wait until the lease of a killed process
  // expires.
  let hasBuried = false
  const buryOnce = Effect.suspend(() =>
    hasBuried ? Effect.succeed([]) : calling(() => buryTheDead(database)),
  ).pipe(
    Effect.tap((nodes) => {
      hasBuried = true
      return Effect.forEach(nodes, (node) =>
        Effect.logInfo(`${node} ran on this machine and has ended: its shards are free`),
      )
    }),
  )
  return {
    owners: calling(() => readOwners(database)),
    claim: (expected, node) => calling(() => claim(database, expected, node)),
    renew: (held) => calling(() => renew(database, held)),
    release: (shard, epoch) => calling(() => release(database, shard, epoch)),
    announce: (member) =>
      Effect.andThen(
        buryOnce,
        calling(() => announce(database, member)),
      ),
    members: calling(() => readMembers(database)),
    retire: (node) => calling(() => retire(database, node)),
    retireSilent: (seen) => calling(() => retireSilent(database, seen)),
  }
}
