// Scans along the orders of a namespace or a shard. The rows of a namespace are spread over all shards, so a scan merges
// one range of each partition. Places sort like the order that they stand for, so merging compares bytes.

import type { FinishedLife, Timer } from "../../domain/Timer.ts"
import type { Scan, ScannedHead, SortKey } from "../../ports/ShardStorage.ts"
import { placeIn } from "../headOfColumns.ts"
import { headOfRow } from "../headOfRow.ts"
import type { Fences } from "./Fences.ts"
import { type Keys, lifeRowOf } from "./Keys.ts"
import { dueOfPlace, endOfPlaces, entryAt, keyAt, kinds, placeOf } from "./places.ts"
import { bytesIn, lifeOf, numberIn, textIn, timerOf } from "./rows.ts"
import type { BatchSession, Row } from "./Session.ts"

/** A row of an index, or the row itself in the orders by id. */
export interface IndexRow {
  readonly shard: number
  readonly place: Buffer
  readonly row: Row
}

export interface PlaceRange {
  readonly kind: number
  readonly inclusiveFrom: Buffer
  readonly exclusiveUntil: Buffer
  readonly isDescending: boolean
}

/** How many shards one statement names. */
const shardsAtOnce = 64

interface Lane {
  readonly shard: number
  readonly buffer: Array<IndexRow>
  next: number
  isAtEnd: boolean
}

/** Reads one range of several partitions in order. */
export class ShardWalk {
  readonly #session: BatchSession
  readonly #range: PlaceRange
  readonly #lanes: ReadonlyArray<Lane>

  constructor(session: BatchSession, shards: ReadonlyArray<number>, range: PlaceRange) {
    this.#session = session
    this.#range = range
    this.#lanes = shards.map((shard) => ({ shard, buffer: [], next: 0, isAtEnd: false }))
  }

  /** The next rows. Fewer than `limit` only if there are no more. */
  async take(limit: number): Promise<ReadonlyArray<IndexRow>> {
    const taken: Array<IndexRow> = []
    while (taken.length < limit) {
      await this.#fill(limit)
      const lane = this.#first()
      if (lane === undefined) break
      const row = lane.buffer[lane.next++]
      if (row !== undefined) taken.push(row)
    }
    return taken
  }

  #first(): Lane | undefined {
    const sign = this.#range.isDescending ? -1 : 1
    let first: Lane | undefined
    for (const lane of this.#lanes) {
      const [row, best] = [lane.buffer[lane.next], first?.buffer[first.next]]
      if (row !== undefined && (best === undefined || sign * Buffer.compare(row.place, best.place) < 0))
        first = lane
    }
    return first
  }

  /** Fills every lane without a next row. At first all lanes have the same range, and share statements. */
  async #fill(limit: number): Promise<void> {
    const empty = this.#lanes.filter(({ buffer, next, isAtEnd }) => next === buffer.length && !isAtEnd)
    const fresh = empty.filter(({ buffer }) => buffer.length === 0)
    const share = fresh.length === 1 ? limit : Math.ceil((2 * limit) / this.#lanes.length) + 1
    const groups: Array<Promise<void>> = []
    for (let from = 0; from < fresh.length; from += shardsAtOnce)
      groups.push(this.#read(fresh.slice(from, from + shardsAtOnce), share))
    for (const lane of empty)
      if (lane.buffer.length > 0) groups.push(this.#read([lane], Math.max(share, limit)))
    await Promise.all(groups)
  }

  async #read(lanes: ReadonlyArray<Lane>, rows: number): Promise<void> {
    const { kind, isDescending } = this.#range
    const last = lanes[0]?.buffer.at(-1)?.place
    const from = last === undefined || isDescending ? this.#range.inclusiveFrom : Buffer.concat([last, zero])
    const until = last === undefined || !isDescending ? this.#range.exclusiveUntil : last
    const order = isDescending ? " ORDER BY kind DESC, place DESC" : ""
    const found =
      Buffer.compare(from, until) >= 0
        ? []
        : await this.#session.rows(
            `SELECT * FROM shards WHERE store = ? AND shard IN ? AND kind = ${kind} AND place >= ? AND place < ?${order} PER PARTITION LIMIT ?`,
            [this.#session.store, lanes.map(({ shard }) => shard), from, until, rows],
          )
    for (const lane of lanes) {
      lane.buffer.length = 0
      lane.next = 0
    }
    const byShard = new Map(lanes.map((lane) => [lane.shard, lane]))
    for (const row of found) {
      const shard = numberIn(row, "shard")
      byShard.get(shard)?.buffer.push({ shard, place: bytesIn(row, "place"), row })
    }
    for (const lane of lanes) lane.isAtEnd = lane.buffer.length < rows
  }
}

const zero = Buffer.alloc(1)

export const scanRows = async (
  { session, keys, fences }: { readonly session: BatchSession; readonly keys: Keys; readonly fences: Fences },
  scan: Scan,
): Promise<ReadonlyArray<ScannedHead>> => {
  const shards = typeof scan.namespace === "number" ? [scan.namespace] : allShards(keys.shards)
  const range = await withLow(fences, shards, scan, placesOf(scan))
  const walk = new ShardWalk(session, shards, range)
  const heads: Array<ScannedHead> = []
  for (;;) {
    const wanted = scan.limit - heads.length
    const rows = await walk.take(wanted)
    const found = await headsOf(keys, scan, rows)
    const isShown = (head: ScannedHead) =>
      typeof scan.namespace === "string" || !head.namespace.startsWith("_")
    heads.push(...found.filter(isShown))
    if (rows.length < wanted || heads.length >= scan.limit) return heads
  }
}

export const allShards = (count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, shard) => shard)

/** The rows before `low` are deleted ones. */
const withLow = async (
  fences: Fences,
  shards: ReadonlyArray<number>,
  { order, state, namespace, word = "" }: Scan,
  range: PlaceRange,
): Promise<PlaceRange> => {
  const isPending = order === "due" || (order === "word" && state === undefined)
  if (!isPending) return range
  const lows = await fences.lows(shards)
  const low = Math.min(...shards.map((shard) => lows.get(shard) ?? 0))
  const prefix =
    typeof namespace === "number" ? [] : order === "due" ? [namespace] : [namespace, "pending", word]
  const from = placeOf(...prefix, low)
  return Buffer.compare(from, range.inclusiveFrom) > 0 ? { ...range, inclusiveFrom: from } : range
}

export const placesOf = (scan: Scan): PlaceRange => {
  const { kind, prefix } = orderOf(scan)
  const after = (...parts: ReadonlyArray<string | number | { readonly uuid: string }>) =>
    Buffer.concat([prefix, placeOf(...parts)])
  const text = (id: string) => Buffer.concat([prefix, Buffer.from(id)])
  const froms = [prefix]
  const untils = [endOfPlaces(prefix)]
  if (scan.inclusiveFromMs !== undefined) froms.push(after(scan.inclusiveFromMs))
  if (scan.exclusiveUntilMs !== undefined) untils.push(after(scan.exclusiveUntilMs))
  if (scan.inclusiveFromId !== undefined) froms.push(text(scan.inclusiveFromId))
  if (scan.exclusiveUntilId !== undefined) untils.push(text(scan.exclusiveUntilId))
  if (scan.timerId !== undefined) {
    froms.push(after(scan.timerId))
    untils.push(endOfPlaces(after(scan.timerId)))
  }
  if (scan.exclusiveAfter !== undefined) {
    const place = after(...partsOf(scan, scan.exclusiveAfter))
    if (scan.isDescending) untils.push(place)
    else froms.push(endOfPlaces(place))
  }
  return {
    kind,
    inclusiveFrom: froms.reduce((a, b) => (Buffer.compare(a, b) > 0 ? a : b)),
    exclusiveUntil: untils.reduce((a, b) => (Buffer.compare(a, b) < 0 ? a : b)),
    isDescending: scan.isDescending,
  }
}

const orderOf = ({
  order,
  namespace,
  state,
  word = "",
}: Scan): { readonly kind: number; readonly prefix: Buffer } => {
  if (typeof namespace === "number") return { kind: kinds.due, prefix: Buffer.alloc(0) }
  switch (order) {
    case "due":
      return { kind: kinds.dueOf, prefix: placeOf(namespace) }
    case "pendingId":
      return { kind: kinds.key, prefix: placeOf(namespace) }
    case "finishedId":
      return { kind: kinds.life, prefix: placeOf(namespace) }
    case "end":
      return { kind: kinds.end, prefix: placeOf(namespace, state ?? "delivered") }
    case "word":
      return { kind: kinds.word, prefix: placeOf(namespace, state ?? "pending", word) }
  }
}

const partsOf = (
  { order }: Scan,
  place: SortKey,
): ReadonlyArray<string | number | { readonly uuid: string }> => {
  const [first, second, third] = place
  if (order === "word") return [Number(second), { uuid: String(third) }]
  if (order === "due") return [Number(first), { uuid: String(second) }]
  if (order === "end") return [Number(first), Number(second)]
  return second === undefined ? [String(first)] : [String(first), Number(second)]
}

/** Rows whose timers or lives are not there any more are left out. */
const headsOf = async (
  keys: Keys,
  scan: Scan,
  rows: ReadonlyArray<IndexRow>,
): Promise<ReadonlyArray<ScannedHead>> => {
  const isOfLives = scan.state !== undefined
  const isById = scan.order === "pendingId" || scan.order === "finishedId"
  const found = isById
    ? rows.map(({ row }) => row)
    : await refsOf(keys, isOfLives ? kinds.life : kinds.key, rows)
  const pairs = rows.flatMap(({ place }, index) => {
    const row = found[index]
    return row === undefined ? [] : [{ place, row, key: keyAt(bytesIn(row, "place")) }]
  })
  if (isOfLives) {
    const lives = scan.withDetails
      ? await keys.livesOf(
          pairs.map(({ key, row }) => ({ key, life: lifeRowOf(row) })),
          false,
        )
      : pairs.map(({ key, row }) => lifeOf(key, row, {}))
    return lives.map((life, index) => headOf(scan, pairs[index]?.place ?? zero, life))
  }
  const pending = pairs.filter(({ place, row }) => isPendingAt(scan, place, row))
  const timers = scan.withDetails
    ? await keys.timersOf(pending, false)
    : pending.map(({ key, row }) => timerOf(key, row, {}))
  return timers.flatMap((timer, index) =>
    timer === undefined ? [] : [headOf(scan, pending[index]?.place ?? zero, timer)],
  )
}

/** A key may have only lives, or its timer may have moved since the index was read. */
const isPendingAt = ({ order }: Scan, place: Buffer, row: Row): boolean => {
  const state = textIn(row, "state")
  return state !== undefined && (order === "pendingId" || state.startsWith(dueOfPlace(place).fireId))
}

/** The rows that index rows name, in order. */
export const refsOf = (
  keys: Keys,
  kind: number,
  rows: ReadonlyArray<IndexRow>,
): Promise<ReadonlyArray<Row | undefined>> =>
  keys.namedRows(
    kind,
    rows.map(({ shard, row }) => ({ shard, ref: bytesIn(row, "ref") })),
  )

const headOf = (scan: Scan, place: Buffer, row: Timer | FinishedLife): ScannedHead => {
  const { timerId: timer_id, fireId: fire_id, revision } = row
  const at_ms = "finishedAt" in row ? row.finishedAt : row.fireAt
  const entry = scan.order === "end" ? entryAt(place) : 0
  return headOfRow(row, placeIn(scan, { at_ms, fire_id, timer_id, revision, entry }), scan.withDetails)
}
