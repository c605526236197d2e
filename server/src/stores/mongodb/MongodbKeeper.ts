// What commands do on the database without running the service: examine, migrate, and reach the documents. The service
// itself migrates when it starts.
import type { Documents } from "@punctual/documents/Documents"
import type { CollectionName, Commands, Document } from "@punctual/documents/mongodb/Commands"
import {
  listDocuments,
  readChanges,
  readDocument,
  writeDocument,
} from "@punctual/documents/mongodb/mongodbDocuments"
import { Effect, type Scope } from "effect"
import { addTallies, emptyTally } from "../../domain/Decision.ts"
import { settingsKind } from "../../engine/namespaces/SettingsRecords.ts"
import {
  type ExamineOptions,
  namedMost,
  type ShardReport,
  type StoreExamination,
  type StoreReport,
} from "../../ports/StoreReport.ts"
import type { StoreSchema } from "../../ports/StoreSchema.ts"
import { StoreError } from "../../ports/TimerStore.ts"
import { logOfText } from "../AttemptLogText.ts"
import { type ExaminedRow, RowExamination } from "../RowExamination.ts"
import { SettingsExamination } from "../SettingsExamination.ts"
import { storeDocuments } from "../StoreDocuments.ts"
import { clockOffset, type MongodbOpenError, opening } from "./MongodbStore.ts"
import type { MongodbAddress } from "./mongodbUrl.ts"
import { existingShards, openDatabase, programVersion, storedSchema, withCommands } from "./openDatabase.ts"

export const MongodbKeeper = {
  /** `nowMs` is the clock that is compared with the database's. */
  examination: (address: MongodbAddress, nowMs: () => number): StoreExamination => ({
    examine: (options) => calling(address, (commands) => examine(commands, address.shown, options, nowMs)),
  }),

  /** Services may run meanwhile. */
  documents: (address: MongodbAddress): Effect.Effect<Documents["Service"], MongodbOpenError, Scope.Scope> =>
    Effect.as(
      opening(() => withCommands(address, (commands) => existingShards(commands, address.shown))),
      storeDocuments({
        write: (asked) => calling(address, (commands) => writeDocument(commands, asked)),
        get: (kind, id) => calling(address, (commands) => readDocument(commands, kind, id)),
        list: (range) => calling(address, (commands) => listDocuments(commands, range)),
        changesAfter: (kind, version, limit) =>
          calling(address, (commands) => readChanges(commands, kind, version, limit)),
      }),
    ),

  /** `shards` is used if the store must be created. */
  schema: (address: MongodbAddress, shards: number): StoreSchema => {
    const stored = calling(address, (commands) => storedSchema(commands, address.shown))
    return {
      versions: Effect.map(stored, ({ version }) => ({ stored: version, program: programVersion })),
      migrate: Effect.flatMap(stored, (schema) =>
        Effect.tryPromise({
          try: async () => {
            await openDatabase(address, schema.version === 0 ? shards : schema.shards)
          },
          catch: storeError,
        }),
      ),
    }
  },
} as const

const storeError = (error: unknown): StoreError =>
  new StoreError({ message: error instanceof Error ? error.message : String(error), isFatal: false })

/** Connects for each call. Commands make few. */
const calling = <A>(
  address: MongodbAddress,
  call: (commands: Commands) => Promise<A>,
): Effect.Effect<A, StoreError> =>
  Effect.tryPromise({ try: () => withCommands(address, call), catch: storeError })

const examine = async (
  commands: Commands,
  shown: string,
  options: ExamineOptions,
  nowMs: () => number,
): Promise<StoreReport> => {
  await existingShards(commands, shown)
  const settings = new SettingsExamination()
  const page = SettingsExamination.pageItems
  while (settings.take(await readChanges(commands, settingsKind, settings.version, page))) {}
  const { pause } = settings.found
  const overdueBeforeMs = pause === undefined ? options.overdueBeforeMs : options.overdueBeforeMsIfPaused
  const timers = await examineRows(commands, "keys", { pending: true })
  const lives = await examineRows(commands, "lives", { state: { $exists: true } })
  return {
    store: "mongodb",
    schemaVersion: programVersion,
    programVersion,
    shards: await shardReports(commands),
    sizes: await sizesOf(commands),
    overdue: await overdueBefore(commands, overdueBeforeMs),
    deadByNamespace: await deadByNamespace(commands),
    integrity: "notChecked",
    faults: [...timers.faults, ...lives.faults],
    targets: timers.targets,
    clockOffsetMs: await clockOffset(commands, nowMs),
    ...settings.found,
    unreadable: [...settings.found.unreadable, ...timers.found, ...lives.found],
  }
}

const examineRows = async (commands: Commands, collection: "keys" | "lives", filter: Document) => {
  const examined = new RowExamination(collection === "keys" ? "timers" : "lives")
  const limit = RowExamination.pageItems
  for (let after = ""; ; ) {
    const rows = await commands.find(
      collection,
      { ...filter, _id: { $gt: after } },
      { sort: { _id: 1 }, limit, projection: { payload: 0 } },
    )
    for (const { _id, uuid = _id, last_attempt = null, ...row } of rows) {
      // The fields have the names of the columns of SQL stores.
      examined.take({ ...row, uuid, last_attempt } as unknown as ExaminedRow)
    }
    if (rows.length < limit) return examined
    after = rows.at(-1)?.["_id"]
  }
}

const shardReports = async (commands: Commands): Promise<ReadonlyArray<ShardReport>> => {
  const shards = await commands.find("shards", {}, { sort: { _id: 1 }, projection: { "intent.changes": 0 } })
  const leases = new Map((await commands.find("leases", {})).map((lease) => [lease["_id"], lease]))
  const counts = new Map<string, number>()
  for (const [collection, match] of [
    ["keys", { pending: true }],
    ["lives", { state: { $exists: true } }],
  ] as const) {
    const group = { _id: { shard: "$shard", state: "$state" }, count: { $sum: 1 } }
    for (const { _id, count } of await commands.aggregate(collection, [
      { $match: match },
      { $group: group },
    ])) {
      const { shard, state } = _id as unknown as { readonly shard: number; readonly state?: string }
      counts.set(`${shard} ${state ?? "pending"}`, count)
    }
  }
  return shards.map(({ _id, epoch, tally, intent }) => {
    const shard = _id as unknown as number
    const { node, foreign_created = 0 } = leases.get(_id) ?? {}
    const countOf = (state: string) => counts.get(`${shard} ${state}`) ?? 0
    const sums = [tally ?? {}, intent?.tally ?? {}, { created: foreign_created }]
    return {
      shard,
      epoch,
      ...(node === undefined ? {} : { node }),
      tally: sums.reduce(addTallies, emptyTally),
      rows: {
        pending: countOf("pending"),
        delivered: countOf("delivered"),
        cancelled: countOf("cancelled"),
        dead: countOf("dead"),
      },
    }
  })
}

const overdueBefore = async (commands: Commands, beforeMs: number): Promise<StoreReport["overdue"]> => {
  const filter = { pending: true, fire_at: { $lt: beforeMs } }
  const worst = await commands.find("keys", filter, {
    sort: { fire_at: 1, fire_id: 1 },
    limit: namedMost,
    projection: { namespace: 1, timer_id: 1, fire_at: 1, attempts: 1, last_attempt: 1 },
  })
  return {
    count: await commands.count("keys", filter, Number.MAX_SAFE_INTEGER),
    worst: worst.map(({ namespace, timer_id, fire_at, attempts, last_attempt }) => {
      const lastAttempt = last_attempt === undefined ? undefined : logOfText(last_attempt)?.at(-1)
      return {
        namespace,
        timerId: timer_id,
        fireAt: fire_at,
        attempts,
        ...(lastAttempt ? { lastAttempt } : {}),
      }
    }),
  }
}

const deadByNamespace = async (commands: Commands): Promise<StoreReport["deadByNamespace"]> => {
  const found = await commands.aggregate("lives", [
    { $match: { state: "dead" } },
    { $group: { _id: "$namespace", count: { $sum: 1 } } },
    { $sort: { count: -1, _id: 1 } },
    { $limit: namedMost },
  ])
  return found.map(({ _id, count }) => ({ namespace: _id as unknown as string, count }))
}

/** With their indexes. */
const sizesOf = async (commands: Commands): Promise<StoreReport["sizes"]> => {
  const names: ReadonlyArray<CollectionName> = ["keys", "lives", "shards", "documents"]
  const sizes = await Promise.all(
    names.map(async (name) => {
      const stats = await commands.run({ collStats: name })
      return { name, bytes: Number(stats["totalSize"] ?? stats["storageSize"] ?? 0) }
    }),
  )
  return sizes.sort((a, b) => b.bytes - a.bytes)
}
