// The reads of due timers, and the small reads of the port. Rows of the due order are an index: the row of the key
// decides whether a timer is pending at that place.
import type { Timer, TimerHead } from "../../domain/Timer.ts"
import type { DuePage, DueQuery } from "../../ports/TimerStore.ts"
import { duePageOf } from "../duePage.ts"
import { usedNames } from "../notedNames.ts"
import type { Fences } from "./Fences.ts"
import { type Keys, slices } from "./Keys.ts"
import { dueOfPlace, endOfPlaces, keyAt, kinds, placeOf } from "./places.ts"
import { bytesIn, numberIn, textIn } from "./rows.ts"
import type { BatchSession, Row } from "./Session.ts"
import { allShards, type IndexRow, refsOf, ShardWalk } from "./scans.ts"

export interface StoreParts {
  readonly session: BatchSession
  readonly keys: Keys
  readonly fences: Fences
}

/** How many bodies are read before the bytes of the page are counted. */
const bodiesAtOnce = 100

export const readDue = (parts: StoreParts, query: DueQuery): Promise<DuePage> =>
  duePageOf(dueTimers(parts, query), query.limit)

async function* dueTimers(parts: StoreParts, query: DueQuery): AsyncGenerator<Timer> {
  const { take } = await dueWalk(parts, query)
  // One row more than the page has shows whether the page is the last one.
  const wanted = query.limit + 1
  for (let isLast = false; !isLast; ) {
    const rows = await take(wanted)
    isLast = rows.length < wanted
    const found = await refsOf(parts.keys, kinds.key, rows)
    const reads = rows.flatMap(({ place }, index) => {
      const row = found[index]
      return row !== undefined && isAt(row, place) ? [{ key: keyAt(bytesIn(row, "place")), row }] : []
    })
    for (const slice of slices(reads, bodiesAtOnce))
      for (const timer of await parts.keys.timersOf(slice, true)) if (timer !== undefined) yield timer
  }
}

const isAt = (row: Row, place: Buffer): boolean =>
  textIn(row, "state")?.startsWith(dueOfPlace(place).fireId) === true

export const readHeads = async (parts: StoreParts, query: DueQuery): Promise<ReadonlyArray<TimerHead>> => {
  const walk = await dueWalk(parts, query)
  const rows = await walk.take(query.limit)
  return rows.map(({ place, row }) => ({ ...keyAt(bytesIn(row, "ref")), ...dueOfPlace(place) }))
}

/** Reads from `low` or from the cursor, whichever is later. The first row that it finds may raise `low`. */
const dueWalk = async ({ session, fences }: StoreParts, query: DueQuery) => {
  const { shard, exclusiveAfter, inclusiveUntilMs, only, except = [] } = query
  const bound = await fences.bound(shard)
  const prefix = only === undefined ? [] : [only]
  const after = endOfPlaces(placeOf(...prefix, exclusiveAfter.fireAt, { uuid: exclusiveAfter.fireId }))
  const low = placeOf(...prefix, bound.low)
  const startsAtLow = Buffer.compare(low, after) > 0
  const read = startsAtLow && only === undefined ? bound.reading() : undefined
  const until = Math.min(inclusiveUntilMs, Number.MAX_SAFE_INTEGER - 1)
  const walk = new ShardWalk(session, [shard], {
    kind: only === undefined ? kinds.due : kinds.dueOf,
    inclusiveFrom: startsAtLow ? low : after,
    exclusiveUntil: placeOf(...prefix, until + 1),
    isDescending: false,
  })
  const excepted = new Set(except)
  const isWanted = ({ row }: IndexRow) => !excepted.has(keyAt(bytesIn(row, "ref")).namespace)
  let isFirst = true
  const take = async (limit: number): Promise<ReadonlyArray<IndexRow>> => {
    const taken: Array<IndexRow> = []
    for (;;) {
      const wanted = limit - taken.length
      const rows = await walk.take(wanted)
      if (isFirst) read?.(rows[0] === undefined ? until + 1 : dueOfPlace(rows[0].place).fireAt)
      isFirst = false
      taken.push(...(excepted.size === 0 ? rows : rows.filter(isWanted)))
      if (rows.length < wanted || taken.length >= limit) return taken
    }
  }
  return { take }
}

export const readClock = async ({ session }: Pick<StoreParts, "session">): Promise<number> => {
  const [row] = await session.rows("SELECT toUnixTimestamp(now()) AS now_ms FROM system.local")
  return numberIn(row ?? {}, "now_ms")
}

export const noteNames = (session: BatchSession, names: ReadonlyArray<string>) =>
  Promise.all(
    names.map((name) =>
      session.rows("INSERT INTO namespaces (store, name) VALUES (?, ?)", [session.store, name]),
    ),
  )

export const readNames = (
  { session, keys }: StoreParts,
  exclusiveAfter: string,
  limit: number,
): Promise<ReadonlyArray<string>> =>
  usedNames(notedNames(session, exclusiveAfter), limit, (name) => isUsed(session, keys.shards, name))

/** How many names are checked at once. */
const namesAtOnce = 32

async function* notedNames(session: BatchSession, exclusiveAfter: string) {
  const query = "SELECT name FROM namespaces WHERE store = ? AND name > ? LIMIT ?"
  for (let after: string | undefined = exclusiveAfter; after !== undefined; ) {
    const rows: ReadonlyArray<Row> = await session.rows(query, [session.store, after, namesAtOnce])
    const names = rows.flatMap((row) => textIn(row, "name") ?? [])
    yield names
    after = names.at(namesAtOnce - 1)
  }
}

const isUsed = async (session: BatchSession, shards: number, name: string): Promise<boolean> => {
  const prefix = placeOf(name)
  const rows = await session.rows(
    `SELECT shard FROM shards WHERE store = ? AND shard IN ? AND kind = ${kinds.key} AND place >= ? AND place < ? LIMIT 1`,
    [session.store, allShards(shards), prefix, endOfPlaces(prefix)],
  )
  return rows.length > 0
}
