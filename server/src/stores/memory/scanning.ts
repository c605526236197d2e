// Scans along a namespace's indexes in memory, with the same orders, bounds and positions as in the SQL stores.
import { compareDue } from "../../domain/DueOrder.ts"
import type { FinishedLife, Timer } from "../../domain/Timer.ts"
import type { Scan, ScannedHead, SortKey } from "../../ports/ShardStorage.ts"
import { headOfRow } from "../headOfRow.ts"
import { compareUtf8 } from "../Utf8Order.ts"
import { type MemoryDatabase, type WordEntry, wordKey } from "./MemoryDatabase.ts"
import type { SortedList } from "./SortedList.ts"

export const scanIn = (database: MemoryDatabase, scan: Scan): ReadonlyArray<ScannedHead> => {
  const heads: Array<ScannedHead> = []
  for (const head of headsOf(database, scan)) {
    if (heads.length === scan.limit) break
    heads.push(head)
  }
  return heads
}

const headsOf = (database: MemoryDatabase, scan: Scan): Iterable<ScannedHead> => {
  if (typeof scan.namespace === "number") return shardHeads(database, scan, scan.namespace)
  const index = database.index(scan.namespace)
  const headAt = (row: Timer | FinishedLife, place: SortKey) => headOfRow(row, place, scan.withDetails)
  const state = scan.state ?? "delivered"
  switch (scan.order) {
    case "due":
      return walk(index.pendingByDue, scan, ({ timer }) => headAt(timer, [timer.fireAt, timer.fireId]))
    case "pendingId":
      return walk(index.pendingById, scan, ({ timer }) => headAt(timer, [timer.timerId]))
    case "end":
      return walk(index.ended[state].byTime, scan, ({ life, entry }) =>
        headAt(life, [life.finishedAt, entry]),
      )
    case "finishedId":
      return walk(index.ended[state].byId, scan, ({ life }) => headAt(life, [life.timerId, life.revision]))
    case "word":
      return wordHeads(database, scan, scan.namespace)
  }
}

/** The pending timers of a shard, in all namespaces except reserved ones. */
function* shardHeads(database: MemoryDatabase, scan: Scan, shard: number): Generator<ScannedHead> {
  for (const head of walk(database.dueOf(shard), scan, ({ timer }) =>
    headOfRow(timer, [timer.fireAt, timer.fireId], scan.withDetails),
  )) {
    if (!head.namespace.startsWith("_")) yield head
  }
}

/** Skips rows of the index whose timers or lives no longer exist. */
function* wordHeads(database: MemoryDatabase, scan: Scan, namespace: string): Generator<ScannedHead> {
  const { state = "pending", word = "" } = scan
  const list = database.index(namespace).words.get(wordKey(state, word))
  const headAt = (row: Timer | FinishedLife, place: SortKey) => headOfRow(row, place, scan.withDetails)
  if (list === undefined) return
  const from =
    scan.exclusiveAfter ?? wordPlace(word, scan.isDescending ? scan.exclusiveUntilMs : scan.inclusiveFromMs)
  const isAtOrAfter = (entry: WordEntry): boolean =>
    from === undefined || comparePlaces([entry.atMs, entry.fireId], placeInWord(from)) >= 0
  const isAfter = (entry: WordEntry): boolean =>
    scan.exclusiveAfter !== undefined
      ? comparePlaces([entry.atMs, entry.fireId], placeInWord(scan.exclusiveAfter)) > 0
      : isAtOrAfter(entry)
  const entries = scan.isDescending
    ? list.downFrom((entry) => from !== undefined && isAtOrAfter(entry))
    : list.upFrom(isAfter)
  for (const entry of entries) {
    const { inclusiveFromMs = Number.NEGATIVE_INFINITY, exclusiveUntilMs = Number.POSITIVE_INFINITY } = scan
    if (entry.atMs < inclusiveFromMs || entry.atMs >= exclusiveUntilMs) return
    const row = database.rowOf(entry)
    const place = [word, entry.atMs, entry.fireId] as const
    if (row !== undefined) yield headAt("life" in row ? row.life : row, place)
  }
}

const wordPlace = (word: string, atMs: number | undefined): SortKey | undefined =>
  atMs === undefined ? undefined : [word, atMs, ""]

/** The position within one word. */
const placeInWord = (place: SortKey): SortKey => [Number(place[1]), String(place[2] ?? "")]

function* walk<T>(
  list: SortedList<T>,
  scan: Scan,
  headOf: (entry: T) => ScannedHead,
): Generator<ScannedHead> {
  const { isDescending, exclusiveAfter } = scan
  const from = exclusiveAfter ?? firstPlace(scan)
  const isAtOrAfter = (entry: T): boolean =>
    from === undefined || comparePlaces(headOf(entry).place, from) >= 0
  const entries = isDescending
    ? list.downFrom((entry) => from !== undefined && isAtOrAfter(entry))
    : list.upFrom((entry) => isAtOrAfter(entry))
  for (const entry of entries) {
    const head = headOf(entry)
    if (exclusiveAfter !== undefined && comparePlaces(head.place, exclusiveAfter) === 0) continue
    if (isBeyond(head, scan)) return
    if (isWithin(head, scan)) yield head
  }
}

/** Where the scan begins. */
const firstPlace = ({ isDescending, ...scan }: Scan): SortKey | undefined => {
  if (scan.timerId !== undefined) return isDescending ? [scan.timerId, Number.MAX_VALUE] : [scan.timerId]
  const id = isDescending ? scan.exclusiveUntilId : scan.inclusiveFromId
  if (id !== undefined) return [id]
  const bound = isDescending ? scan.exclusiveUntilMs : scan.inclusiveFromMs
  return bound === undefined ? undefined : scan.order === "due" ? [bound, ""] : [bound, -1]
}

/** Whether no later row of this scan is within the bounds. */
const isBeyond = ({ timerId, atMs }: ScannedHead, scan: Scan): boolean => {
  if (scan.timerId !== undefined) return timerId !== scan.timerId
  if (scan.isDescending) {
    const { inclusiveFromId: id, inclusiveFromMs: ms } = scan
    return (id !== undefined && compareUtf8(timerId, id) < 0) || (ms !== undefined && atMs < ms)
  }
  const { exclusiveUntilId: id, exclusiveUntilMs: ms } = scan
  return (id !== undefined && compareUtf8(timerId, id) >= 0) || (ms !== undefined && atMs >= ms)
}

/** A descending scan by id begins at the bound itself, which is exclusive. */
const isWithin = ({ timerId }: ScannedHead, { exclusiveUntilId }: Scan): boolean =>
  exclusiveUntilId === undefined || compareUtf8(timerId, exclusiveUntilId) < 0

/** Compares two places in one order. A shorter one comes before all that begin with it. */
const comparePlaces = (a: SortKey, b: SortKey): number => {
  const [a0, a1] = a
  const [b0, b1] = b
  if (typeof a0 === "string" && typeof b0 === "string") {
    return compareUtf8(a0, b0) || Number(a1 ?? -1) - Number(b1 ?? -1)
  }
  if (typeof a1 === "string" && typeof b1 === "string") {
    return compareDue({ fireAt: Number(a0), fireId: a1 }, { fireAt: Number(b0), fireId: b1 })
  }
  return Number(a0) - Number(b0) || Number(a1) - Number(b1)
}
