// Scans and counts. A namespace is spread over all shards, so its rows are merged from one range of each shard. Ranges
// are read in small pages, because most scans need few rows of each shard. Two orders are made differently: finished
// lives by id (the keys that have lives, then the lives of each key), and rows by word (the index of words, whose rows
// are checked against what is stored).
import type { DynamoExpression } from "@punctual/aws/DynamoExpression"
import type { DynamoItem } from "@punctual/aws/DynamoItem"
import { forAll } from "@punctual/aws/forAll"
import { mergedRanges, type RangeLane } from "@punctual/aws/mergedRanges"
import { afterTime, beyond, timeOfText, timeText } from "@punctual/aws/sortableTime"
import type { FinishedState } from "../../domain/Timer.ts"
import { keyOf, shardOf } from "../../domain/TimerKey.ts"
import { hasWord } from "../../domain/words.ts"
import type { Scan, ScannedHead } from "../../ports/ShardStorage.ts"
import { compareUtf8 } from "../Utf8Order.ts"
import type { Database } from "./Database.ts"
import { endsOf, keyOfText, lifePlace, placeOfKey, prefixOf, wordsOf } from "./keys.ts"
import { livesOfKey } from "./looks.ts"
import { detailAttributes, headAttributes, headOfLife, headOfTimer } from "./rows.ts"

export const readScans = (
  database: Database,
  scans: ReadonlyArray<Scan>,
): Promise<ReadonlyArray<ReadonlyArray<ScannedHead>>> => forAll(scans, (scan) => readScan(database, scan))

/** How many rows the scans find together, up to the limit. */
export const readCount = async (
  database: Database,
  scans: ReadonlyArray<Scan>,
  limit: number,
): Promise<number> => {
  let count = 0
  for (const scan of scans) {
    if (count >= limit) break
    const wanted = { ...scan, limit: limit - count }
    count += isRanged(scan) ? await rangedCount(database, wanted) : (await readScan(database, wanted)).length
  }
  return Math.min(count, limit)
}

const isRanged = ({ order }: Scan): boolean => order === "due" || order === "pendingId" || order === "end"

const readScan = async (database: Database, scan: Scan): Promise<ReadonlyArray<ScannedHead>> => {
  if (scan.limit <= 0) return []
  if (scan.order === "finishedId") return scanFinished(database, scan)
  if (scan.order === "word") return scanWord(database, scan)
  const items: Array<DynamoItem> = []
  for await (const item of merged(database, scan)) {
    if (items.push(item) >= scan.limit) break
  }
  if (scan.order === "end") return endHeads(database, scan, items)
  return items.map((item) => headOfTimer(scan, item))
}

const lanesOf = (database: Database, scan: Scan, has: "due" | "last_id"): ReadonlyArray<RangeLane> => {
  const { namespace, timerId } = scan
  const all = Array.from({ length: database.shards }, (_, shard) => shard)
  if (typeof namespace === "number") return [laneOf(database, scan, namespace, has)]
  const shards = timerId === undefined ? all : [shardOf(keyOf(namespace, timerId).uuid, database.shards)]
  return shards.map((shard) => laneOf(database, scan, shard, has))
}

const laneOf = ({ names }: Database, scan: Scan, shard: number, has: string): RangeLane => {
  const { namespace, order, isDescending, withDetails } = scan
  const prefix = typeof namespace === "string" ? prefixOf(namespace) : ""
  if (order === "end") {
    const range = ["sk", ...boundsOf(prefix, scan)] as const
    return {
      sortKey: "sk",
      query: {
        table: names.history,
        partition: ["pk", endsOf(shard, scan.state ?? "delivered")],
        range,
        isDescending,
      },
    }
  }
  const attributes = withDetails ? detailAttributes : headAttributes
  const base = { table: names.timers, partition: ["shard", shard], isDescending, attributes } as const
  if (order === "pendingId") {
    const filter = (expression: DynamoExpression) => expression.has(has)
    return { sortKey: "id", query: { ...base, range: ["id", ...idBoundsOf(prefix, scan)], filter } }
  }
  const index = typeof namespace === "string" ? "ns_due" : "due"
  const reserved = (expression: DynamoExpression) =>
    `NOT begins_with(${expression.name("id")}, ${expression.value("_")})`
  const query = {
    ...base,
    index,
    attributes: index === "due" ? attributes : [...attributes, index],
    range: [index, ...boundsOf(prefix, scan)],
  } as const
  return { sortKey: index, query: typeof namespace === "string" ? query : { ...query, filter: reserved } }
}

/** Inclusive bounds of the sort key for an order by time. The row of the cursor is left out later. */
const boundsOf = (prefix: string, scan: Scan): readonly [from: string, to: string] => {
  const { inclusiveFromMs = Number.NEGATIVE_INFINITY, exclusiveUntilMs, isDescending, exclusiveAfter } = scan
  const from = `${prefix}${timeText(inclusiveFromMs)}`
  const to =
    exclusiveUntilMs === undefined
      ? `${prefix}${beyond}`
      : `${prefix}${timeText(Math.ceil(exclusiveUntilMs) - 1)}${beyond}`
  if (exclusiveAfter === undefined) return [from, to]
  const after = `${prefix}${placeText(scan)}`
  return isDescending
    ? [from, compareUtf8(after, to) < 0 ? after : to]
    : [compareUtf8(after, from) > 0 ? after : from, to]
}

const placeText = ({ order, exclusiveAfter = [0, ""] }: Scan): string => {
  const [time, rest = ""] = exclusiveAfter.length === 3 ? exclusiveAfter.slice(1) : exclusiveAfter
  return `${timeText(Number(time))}${order === "end" ? String(Math.max(0, Number(rest))).padStart(16, "0") : rest}`
}

const idBoundsOf = (prefix: string, scan: Scan): readonly [from: string, to: string] => {
  const { timerId, inclusiveFromId = "", exclusiveUntilId, isDescending, exclusiveAfter } = scan
  if (timerId !== undefined) return [`${prefix}${timerId}`, `${prefix}${timerId}`]
  const after = exclusiveAfter === undefined ? undefined : String(exclusiveAfter[0])
  const from =
    !isDescending && after !== undefined && compareUtf8(after, inclusiveFromId) > 0 ? after : inclusiveFromId
  const to =
    isDescending &&
    after !== undefined &&
    (exclusiveUntilId === undefined || compareUtf8(after, exclusiveUntilId) < 0)
      ? after
      : (exclusiveUntilId ?? "\u{10ffff}")
  return [`${prefix}${from}`, `${prefix}${to}`]
}

/** Whether the scan leaves out a row that its inclusive range contains: that of the cursor, or that of the bound. */
const isLeftOut = (scan: Scan, sortKey: string): boolean => {
  const { namespace, order, exclusiveAfter, exclusiveUntilId } = scan
  const prefix = typeof namespace === "string" ? prefixOf(namespace) : ""
  const own = sortKey.slice(prefix.length)
  if (order !== "pendingId") return exclusiveAfter !== undefined && own === placeText(scan)
  return own === exclusiveUntilId || (exclusiveAfter !== undefined && own === exclusiveAfter[0])
}

/** One row more than each shard's part, because the row of the cursor is left out. */
const rowsOf = (scan: Scan, lanes: number): number => Math.ceil((2 * scan.limit) / lanes) + 1

/** `has` names what a key must have in the order by id: a pending timer, or a life. */
const merged = (
  { tables, ...rest }: Database,
  scan: Scan,
  has: "due" | "last_id" = "due",
): AsyncGenerator<DynamoItem> => {
  const lanes = lanesOf({ tables, ...rest }, scan, has)
  return mergedRanges(tables, lanes, {
    rows: rowsOf(scan, lanes.length),
    isDescending: scan.isDescending,
    isLeftOut: (sortKey) => isLeftOut(scan, sortKey),
    compare: compareUtf8,
  })
}

/** Counts in DynamoDB, which then reads only the index and sends no rows. */
const rangedCount = async (database: Database, scan: Scan): Promise<number> => {
  const hasBound = scan.exclusiveAfter !== undefined || scan.exclusiveUntilId !== undefined
  let count = 0
  if (hasBound) {
    for await (const _ of merged(database, scan)) if (++count >= scan.limit) break
    return count
  }
  await forAll(lanesOf(database, scan, "due"), async ({ query }) => {
    const { attributes: _, ...range } = query
    for await (const page of database.tables.pages({ ...range, countsOnly: true })) {
      count += page.count
      if (count >= scan.limit) break
    }
  })
  return Math.min(count, scan.limit)
}

const endHeads = async (
  database: Database,
  scan: Scan,
  items: ReadonlyArray<DynamoItem>,
): Promise<ReadonlyArray<ScannedHead>> => {
  const full = scan.withDetails === true ? await livesAt(database, items) : undefined
  return items.map((item) => {
    const atMs = timeOfText(String(item["sk"]).slice(prefixOf(String(item["namespace"])).length))
    // A life that was removed meanwhile has no details, so no filter that needs them finds it.
    return headOfLife(scan, item, scan.state ?? "delivered", atMs, full?.get(lifeIdOf(item)))
  })
}

/** The lives that the rows name, by fireId. */
const livesAt = async (
  database: Database,
  rows: ReadonlyArray<DynamoItem>,
): Promise<Map<string, DynamoItem>> => {
  const keys = new Map(
    rows.map((row) => {
      const { uuid } = keyOf(String(row["namespace"]), String(row["timer_id"]))
      const { key } = lifePlace(database.names, uuid, String(row["fire_id"]))
      return [`${key["pk"]} ${key["sk"]}`, key] as const
    }),
  )
  const lives = await database.tables.getAll(database.names.history, [...keys.values()])
  return new Map(lives.map((life) => [lifeIdOf(life), life]))
}

/** Two keys may have lives with the same fireId, if they were restored. */
const lifeIdOf = (row: DynamoItem): string => `${row["fire_id"]} ${row["namespace"]}/${row["timer_id"]}`

/** How many keys are read before their lives. */
const keysAtOnce = 50

const scanFinished = async (database: Database, scan: Scan): Promise<ReadonlyArray<ScannedHead>> => {
  const heads: Array<ScannedHead> = []
  const add = async (ids: ReadonlyArray<string>) => {
    const lives = await forAll(ids, (id) => livesOfKey(database, keyOfText(id).uuid))
    for (const of of lives) {
      const ordered = of.map((life) => finishedHead(life, scan)).filter((head) => isAfterPlace(head, scan))
      heads.push(...(scan.isDescending ? ordered.reverse() : ordered))
    }
  }
  const namespace = String(scan.namespace)
  if (scan.timerId !== undefined) {
    await add([`${prefixOf(namespace)}${scan.timerId}`])
    return heads.slice(0, scan.limit)
  }
  // The key of the cursor may have further lives, so it is read again.
  const { exclusiveAfter: after, ...rest } = scan
  const bounds =
    after === undefined
      ? rest
      : scan.isDescending
        ? { ...rest, exclusiveUntilId: `${after[0]}\u0000` }
        : { ...rest, inclusiveFromId: String(after[0]) }
  const keys: Scan = { ...bounds, order: "pendingId", limit: Math.min(scan.limit, keysAtOnce) }
  let ids: Array<string> = []
  for await (const item of merged(database, keys, "last_id")) {
    ids.push(String(item["id"]))
    if (ids.length < keysAtOnce) continue
    await add(ids)
    ids = []
    if (heads.length >= scan.limit) break
  }
  await add(ids)
  return heads.slice(0, scan.limit)
}

const finishedHead = (life: DynamoItem, scan: Scan): ScannedHead =>
  // Only this program writes the state.
  headOfLife(scan, life, life["state"] as FinishedState, Number(life["finished_at"]))

const isAfterPlace = (
  { timerId, revision }: ScannedHead,
  { exclusiveAfter, isDescending }: Scan,
): boolean => {
  if (exclusiveAfter === undefined) return true
  const [id, after = -1] = exclusiveAfter
  const order = compareUtf8(timerId, String(id)) || revision - Number(after)
  return isDescending ? order < 0 : order > 0
}

const scanWord = async (database: Database, scan: Scan): Promise<ReadonlyArray<ScannedHead>> => {
  const { state = "pending", word = "", isDescending } = scan
  const heads: Array<ScannedHead> = []
  const pages = database.tables.pages(
    {
      table: database.names.history,
      partition: ["pk", wordsOf(String(scan.namespace), state, word)],
      range: ["sk", ...boundsOf("", scan)],
      isDescending,
    },
    Math.min(scan.limit + 1, 100),
  )
  for await (const { items } of pages) {
    const rows = items.filter(
      ({ sk }) => scan.exclusiveAfter === undefined || placeOfWord(sk) !== placeText(scan),
    )
    const found = await (state === "pending" ? pendingByWord : endedByWord)(database, scan, rows)
    // A change that missed has left its words. The change that was decided instead may have the same place.
    heads.push(...found.filter((head) => hasWord(head, word)))
    if (heads.length >= scan.limit) break
  }
  return heads.slice(0, scan.limit)
}

/** The part of a row's key that is its place. */
const placeOfWord = (sk: unknown): string => String(sk).split("/")[0] ?? ""

const pendingByWord = async (database: Database, scan: Scan, rows: ReadonlyArray<DynamoItem>) => {
  const places = new Map(
    rows.map(({ id }) => [
      String(id),
      placeOfKey(database.names, database.shards, keyOfText(String(id))).key,
    ]),
  )
  const items = await database.tables.getAll(database.names.timers, [...places.values()])
  const byId = new Map(items.map((item) => [String(item["id"]), item]))
  return rows.flatMap(({ id, sk }) => {
    const item = byId.get(String(id))
    const due = placeOfWord(sk)
    if (item === undefined || item["due"] !== due) return []
    return [headOfTimer(scan, item)]
  })
}

const endedByWord = async (database: Database, scan: Scan, rows: ReadonlyArray<DynamoItem>) => {
  const named = rows.map((row) => {
    const { namespace, timerId } = keyOfText(String(row["id"]))
    return {
      namespace,
      timer_id: timerId,
      fire_id: afterTime(placeOfWord(row["sk"])),
      at: timeOfText(String(row["sk"])),
    }
  })
  const lives = await livesAt(database, named)
  return named.flatMap((row) => {
    const life = lives.get(lifeIdOf(row))
    if (life === undefined || life["state"] !== scan.state || life["finished_at"] !== row.at) return []
    return [headOfLife(scan, life, scan.state ?? "dead", row.at)]
  })
}
