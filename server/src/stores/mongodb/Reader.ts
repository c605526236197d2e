// The reads of the port. A scan or a page of due timers shows each key as of one instant, but a commit that is being
// applied may be visible in part. The owner of a shard answers its callers only when a commit is applied in full.
import type { CollectionName, Commands, Document } from "@punctual/documents/mongodb/Commands"
import { addTallies, emptyTally } from "../../domain/Decision.ts"
import type { Timer, TimerHead } from "../../domain/Timer.ts"
import type { Scan, ScannedHead, SortKey } from "../../ports/ShardStorage.ts"
import type { DuePage, DueQuery } from "../../ports/TimerStore.ts"
import { duePageOf } from "../duePage.ts"
import { headOfColumns, type ScannedRow } from "../headOfColumns.ts"
import type { MongodbConnection } from "./MongodbStore.ts"
import { timerKeyIn, timerOf } from "./rows.ts"

/** A part of a page, in the order of an index. */
interface Query {
  readonly collection: CollectionName
  readonly filter: Document
  readonly sort: Document
}

/** How many timers are read at once for a page that bytes may end. */
const dueStep = 64

export const readDue = ({ commands }: MongodbConnection, query: DueQuery): Promise<DuePage> =>
  duePageOf(dueTimers(commands, query), query.limit)

async function* dueTimers(commands: Commands, query: DueQuery): AsyncGenerator<Timer> {
  let { exclusiveAfter } = query
  // One row more than the page has shows whether the page is the last one.
  let [left, step] = [query.limit + 1, dueStep]
  while (left > 0) {
    const limit = Math.min(step, left)
    const rows = await readAll(commands, dueQueries({ ...query, exclusiveAfter }), limit)
    for (const row of rows) {
      const timer = timerOf(row)
      yield timer
      exclusiveAfter = timer
    }
    if (rows.length < limit) return
    left -= limit
    step = 4 * dueStep
  }
}

export const readHeads = async (
  { commands }: MongodbConnection,
  query: DueQuery,
): Promise<ReadonlyArray<TimerHead>> => {
  const projection = { namespace: 1, timer_id: 1, fire_id: 1, fire_at: 1 }
  const rows = await readAll(commands, dueQueries(query), query.limit, projection)
  return rows.map((row) => ({ ...timerKeyIn(row), fireId: row["fire_id"], fireAt: row["fire_at"] }))
}

/** A list over many namespaces has many scans. A few run at once, so that none waits long for a connection. */
export const readScan = async (
  { commands }: MongodbConnection,
  scans: ReadonlyArray<Scan>,
): Promise<ReadonlyArray<ReadonlyArray<ScannedHead>>> => {
  const pages: Array<ReadonlyArray<ScannedHead>> = []
  for (let from = 0; from < scans.length; from += scansAtOnce) {
    const some = scans.slice(from, from + scansAtOnce).map(async (scan) => {
      const rows = await readAll(
        commands,
        queriesOf(scan),
        scan.limit,
        scan.withDetails ? detailedFields : headFields,
      )
      return rows.map((row) => headOf(scan, row))
    })
    pages.push(...(await Promise.all(some)))
  }
  return pages
}

const scansAtOnce = 8

export const readCount = async (
  { commands }: MongodbConnection,
  scans: ReadonlyArray<Scan>,
  limit: number,
): Promise<number> => {
  let count = 0
  for (const { collection, filter } of scans.flatMap(queriesOf)) {
    if (count < limit) count += await commands.count(collection, filter, limit - count)
  }
  return count
}

/** Only the documents of keys in use have a namespace. Reserved names begin with _, and ` is the next character. */
export const readNames = async (
  { commands }: MongodbConnection,
  exclusiveAfter: string,
  limit: number,
): Promise<ReadonlyArray<string>> => {
  const isWanted = (name: string) => !name.startsWith("_")
  const names: Array<string> = []
  let after = exclusiveAfter
  while (names.length < limit) {
    const options = { sort: { namespace: 1 }, limit: namesStep, projection: { namespace: 1 } }
    const found = await commands.find("keys", { namespace: { $gt: after } }, options)
    if (found.length === 0) return names
    for (const name of new Set<string>(found.map((key) => key["namespace"]))) {
      if (isWanted(name) && names.length < limit) names.push(name)
      after = isWanted(name) ? name : "_\u{10ffff}"
    }
  }
  return names
}

/** Many namespaces may have few keys. A namespace with more keys is left with the next step. */
const namesStep = 50

/** By shard. The tally of a shard's last commit is in its intent. */
export const readTallies = async ({ commands }: Pick<MongodbConnection, "commands">) => {
  const [shards, leases] = await Promise.all([
    commands.find("shards", {}, { sort: { _id: 1 }, projection: { tally: 1, "intent.tally": 1 } }),
    commands.find("leases", {}, { sort: { _id: 1 }, projection: { foreign_created: 1 } }),
  ])
  return shards.map(({ tally, intent }, index) => {
    const inserted = { created: leases[index]?.["foreign_created"] ?? 0 }
    return [tally ?? {}, intent?.tally ?? {}, inserted].reduce(addTallies, emptyTally)
  })
}

/** The queries follow each other in the order of the page. */
const readAll = async (
  commands: Commands,
  queries: ReadonlyArray<Query>,
  limit: number,
  projection?: Document,
): Promise<Array<Document>> => {
  const rows: Array<Document> = []
  for (const { collection, filter, sort } of queries) {
    if (rows.length === limit) break
    const options = { sort, limit: limit - rows.length, ...(projection === undefined ? {} : { projection }) }
    rows.push(...(await commands.find(collection, filter, options)))
  }
  return rows
}

const dueQueries = ({
  shard,
  exclusiveAfter,
  inclusiveUntilMs,
  only,
  except = [],
}: DueQuery): ReadonlyArray<Query> => {
  const names = only ?? (except.length === 0 ? undefined : { $nin: except })
  const base = { shard, pending: true, ...(names === undefined ? {} : { namespace: names }) }
  const { fireAt, fireId } = exclusiveAfter
  return queriesAfter(
    "keys",
    base,
    ["fire_at", "fire_id"],
    { $lte: inclusiveUntilMs },
    [fireAt, fireId],
    false,
  )
}

const queriesOf = (scan: Scan): ReadonlyArray<Query> => {
  const { order, namespace, state, word, exclusiveAfter, isDescending } = scan
  const isPending = order === "due" || order === "pendingId" || (order === "word" && state === undefined)
  const time = isPending ? "fire_at" : "finished_at"
  const fields = {
    due: [time, "fire_id"],
    pendingId: ["timer_id"],
    end: [time, "entry"],
    finishedId: ["timer_id", "revision"],
    word: [time, "fire_id"],
  }[order]
  const filter: Document = {
    ...(typeof namespace === "number" ? { shard: namespace, ...unreserved } : { namespace }),
    ...(isPending ? { pending: true } : order === "finishedId" ? {} : { state }),
    ...(order === "word" ? { words: word } : {}),
  }
  const after = order === "word" ? exclusiveAfter?.slice(1) : exclusiveAfter
  const bounds = fields[0] === time ? timeBounds(scan) : idBounds(scan)
  return queriesAfter(isPending ? "keys" : "lives", filter, fields, bounds, after, isDescending)
}

const unreserved = { $or: [{ namespace: { $lt: "_" } }, { namespace: { $gte: "`" } }] }

const timeBounds = ({ inclusiveFromMs, exclusiveUntilMs }: Scan): Document => ({
  ...(inclusiveFromMs === undefined ? {} : { $gte: inclusiveFromMs }),
  ...(exclusiveUntilMs === undefined ? {} : { $lt: exclusiveUntilMs }),
})

const idBounds = ({ timerId, inclusiveFromId, exclusiveUntilId }: Scan): Document => ({
  ...(timerId === undefined ? {} : { $eq: timerId }),
  ...(inclusiveFromId === undefined ? {} : { $gte: inclusiveFromId }),
  ...(exclusiveUntilId === undefined ? {} : { $lt: exclusiveUntilId }),
})

/**
 * What follows a place with two parts is read with two queries: the rest of its first part, then what is beyond it.
 * Each is a range of an index, however many rows share the first part.
 */
const queriesAfter = (
  collection: CollectionName,
  filter: Document,
  fields: ReadonlyArray<string>,
  bounds: Document,
  after: SortKey | ReadonlyArray<string | number> | undefined,
  isDescending: boolean,
): ReadonlyArray<Query> => {
  const [first = "", second = ""] = fields
  const sort = Object.fromEntries(fields.map((field) => [field, isDescending ? -1 : 1]))
  const queryOf = (more: Document): Query => ({ collection, filter: { ...filter, ...more }, sort })
  const whole = Object.keys(bounds).length === 0 ? {} : { [first]: bounds }
  if (after === undefined) return [queryOf(whole)]
  const beyond = isDescending ? "$lt" : "$gt"
  const [a, b] = after
  const rest = { $and: [whole, { [first]: { [beyond]: a } }] }
  if (b === undefined) return [queryOf(rest)]
  return [queryOf({ $and: [whole, { [first]: a, [second]: { [beyond]: b } }] }), queryOf(rest)]
}

const fieldsOf = (...names: ReadonlyArray<string>): Document =>
  Object.fromEntries(names.map((name) => [name, 1]))

const headFields = fieldsOf(
  ...["uuid", "namespace", "timer_id", "fire_id", "revision", "fire_at", "finished_at", "state", "entry"],
  ...["correlation_id", "tags"],
)
const detailedFields = { ...headFields, ...fieldsOf("spec", "last_attempt", "reason", "lateness_ms") }

const headOf = (scan: Scan, row: Document): ScannedHead => {
  const state = row["state"] ?? "pending"
  const at_ms = row[state === "pending" ? "fire_at" : "finished_at"]
  // The fields have the names of columns.
  return headOfColumns(scan, {
    ...row,
    uuid: row["uuid"] ?? row["_id"],
    state,
    at_ms,
  } as unknown as ScannedRow)
}
