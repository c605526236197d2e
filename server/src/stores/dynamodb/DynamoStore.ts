// A store on DynamoDB, which nodes share. The design is in docs/adr/0096. Commits.ts, looks.ts, dueReads.ts, scans.ts and
// Leases.ts do the work of a call. serverStore.ts runs the calls. The client repeats requests by itself.
import { CredentialSource } from "@punctual/aws/AwsCredentials"
import { DynamoClient } from "@punctual/aws/DynamoClient"
import type { DynamoItem } from "@punctual/aws/DynamoItem"
import { DynamoTables } from "@punctual/aws/DynamoTables"
import type { DynamoPlace } from "@punctual/aws/dynamoUrl"
import { describeFailure, isFatalFailure } from "@punctual/aws/TablesRefused"
import { DynamoDocuments } from "@punctual/documents/dynamodb/DynamoDocuments"
import { Effect, Layer } from "effect"
import { emptyTally, type Tally, tallyNames, tallyOfAll } from "../../domain/Decision.ts"
import type { Mutable } from "../../domain/Timer.ts"
import { opening, type ServerOpening } from "../openingStores.ts"
import { lanesOver, type ServerWork, serverStore } from "../serverStore.ts"
import { Commits } from "./Commits.ts"
import type { Database } from "./Database.ts"
import { readDue, readHeads } from "./dueReads.ts"
import { fencePlace, insertedPlace, tableNamesOf } from "./keys.ts"
import { dynamoLeases } from "./Leases.ts"
import { concurrentWrites, requestsOfCommand, requestsOfService, writeLimits } from "./limits.ts"
import { lookAt } from "./looks.ts"
import { readNames } from "./namespaceNames.ts"
import { openTables } from "./openTables.ts"
import { Pruning } from "./prune.ts"
import { readCount, readScans } from "./scans.ts"

export interface DynamoStoreOptions extends ServerOpening {
  readonly place: DynamoPlace
}

interface Connection extends Database {
  readonly commits: Commits
  readonly pruning: Pruning
  readonly documents: DynamoDocuments
}

export const tablesAt = (
  { region, endpoint, credentials: given }: DynamoPlace,
  requestsAtOnce: number = requestsOfCommand,
): DynamoTables => {
  const nowMs = Date.now
  const credentials = new CredentialSource({ given, region, environment: process.env, nowMs })
  return new DynamoTables(new DynamoClient({ region, endpoint, credentials, requestsAtOnce, nowMs }))
}

export const explainedDynamo = (error: unknown): Error => new Error(describeFailure(error))

export const DynamoStore = {
  layer: ({ place, shards, historyRetentionMs, connections, onFatal }: DynamoStoreOptions) =>
    Layer.effectContext(
      Effect.gen(function* () {
        const tables = tablesAt(place, connections === "few" ? requestsOfCommand : requestsOfService)
        yield* opening(() => openTables(tables, place.prefix, shards), explainedDynamo)
        const names = tableNamesOf(place.prefix)
        const retention = historyRetentionMs === undefined ? {} : { historyRetentionMs }
        const database: Database = { tables, names, shards, ...retention }
        const services = yield* Effect.context<never>()
        const warn = (message: string) => Effect.runForkWith(services)(Effect.logWarning(message))
        const connection: Connection = {
          ...database,
          commits: new Commits(database, warn),
          pruning: new Pruning(database),
          documents: new DynamoDocuments(tables, names.control),
        }
        return yield* serverStore({
          lanes: lanesOver(connection),
          work,
          shards,
          limits: { ...writeLimits, concurrentWrites },
          rules: { isFatal: isFatalFailure, isTransient: () => false, describe: describeFailure },
          onFatal,
        })
      }),
    ),
} as const

const tallyIn = (item: DynamoItem): Tally => {
  const tally: Mutable<Tally> = { ...emptyTally }
  for (const name of tallyNames) tally[name] = Number(item[name] ?? 0)
  return tally
}

/** The tally of each shard. */
export const readTallies = async (database: Database): Promise<ReadonlyArray<Tally>> =>
  (await readCounters(database)).map((ofShard) =>
    tallyOfAll(ofShard.map((item) => ({ tally: tallyIn(item) }))),
  )

/** What counts the writes of each shard: its fence, and its inserts without an owner. */
export const readCounters = async ({
  tables,
  names,
  shards,
}: Database): Promise<ReadonlyArray<ReadonlyArray<DynamoItem>>> => {
  const places = Array.from({ length: shards }, (_, shard) => [
    fencePlace(names, shard).key,
    insertedPlace(names, shard).key,
  ])
  const items = await tables.getAll(names.control, places.flat())
  const byKey = new Map(items.map((item) => [item["pk"], item]))
  return places.map((ofShard) => ofShard.map(({ pk }) => byKey.get(pk) ?? {}))
}

const work: ServerWork<Connection> = {
  storage: {
    look: lookAt,
    commit: ({ commits }, sent) => commits.commitAll(sent),
    insertNew: ({ commits }, shard, timers) => commits.insertNew(shard, timers),
    due: readDue,
    dueHeads: readHeads,
    scan: readScans,
    count: readCount,
    namespaces: readNames,
    prune: ({ pruning }, beforeMs, limit) => pruning.prune(beforeMs, limit),
  },
  tallies: readTallies,
  leases: dynamoLeases,
  documents: ({ documents }) => documents,
}
