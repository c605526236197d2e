// Lists and counts as scans along one order of a storage, in bounded slices. `scan` returns the heads of rows in order,
// filters are applied here, and whole rows are read only for matches. The code is plain and synchronous, like
// Deciding.ts: the SQLite store runs it inside its reader thread, and other stores through Effect.
import type { Known } from "../domain/Decision.ts"
import type { Look, Scan, ScannedHead, SortKey } from "../ports/ShardStorage.ts"
import type { Listed, ListFilter, ListQuery } from "../ports/TimerStore.ts"
import { isById, isDescending, mostRowsCounted, mostRowsExamined, orderOf, wordOf } from "./ListOrder.ts"
import { endOfPrefix } from "./Utf8Order.ts"

/** How many heads are read at once if not every row matches. Few enough to filter quickly. */
const sliceRows = 1_000

type ListStep =
  | { readonly kind: "scan"; readonly scan: Scan }
  | { readonly kind: "look"; readonly looks: ReadonlyArray<Look> }
  | { readonly kind: "done" }

/** The conditions of a list or a count. */
export type Filtered = ListFilter & Pick<ListQuery, "namespace" | "state">

/** One page of a list. */
export class ListWalk {
  readonly #query: ListQuery
  #scan: Scan
  readonly #matched: Array<ScannedHead> = []
  #examined = 0
  #last: SortKey | undefined
  #isScanned = false
  #hasMore = false
  #items: ReadonlyArray<Listed> | undefined

  constructor(query: ListQuery, after: SortKey | undefined) {
    this.#query = query
    this.#last = after
    // A position in the index of words has three parts. A list continues along the order in which it began.
    this.#scan = scanOf(query, isDescending(query), after === undefined || after.length === 3)
  }

  step(): ListStep {
    if (!this.#isScanned) {
      // One row more than a page holds shows whether there is another page.
      const limit = Math.min(this.#examinedMost - this.#examined + 1, this.#sliceRows)
      const after = this.#last === undefined ? {} : { exclusiveAfter: this.#last }
      return { kind: "scan", scan: { ...this.#scan, ...after, limit } }
    }
    if (this.#items !== undefined) return { kind: "done" }
    if (this.#matched.length === 0) {
      this.#items = []
      return { kind: "done" }
    }
    return { kind: "look", looks: this.#matched.map((head) => this.#lookOf(head)) }
  }

  scanned(heads: ReadonlyArray<ScannedHead>, asked: Scan): void {
    if (heads.length === 0 && this.#last === undefined && canBeUnindexed(this.#query, asked)) {
      this.#scan = scanOf(this.#query, isDescending(this.#query), false)
      return
    }
    for (const head of heads) {
      if (this.#matched.length === this.#query.limit || this.#examined === this.#examinedMost) {
        this.#hasMore = true
        break
      }
      this.#examined++
      this.#last = head.place
      if (matches(head, this.#query)) this.#matched.push(head)
    }
    this.#isScanned = this.#hasMore || heads.length < asked.limit
  }

  /** A row that has changed since the scan is shown in its current state, if it still matches. */
  looked(found: ReadonlyArray<Known>): void {
    const { state } = this.#query
    this.#items = found.flatMap(({ pending, lives }): ReadonlyArray<Listed> => {
      if (state === "pending") return pending === undefined ? [] : [{ state, timer: pending }]
      const life = lives?.[0]
      return life?.state === state ? [{ state, life }] : []
    })
    this.#items = this.#items.filter((item) => matches(headOf(item), this.#query))
  }

  get items(): ReadonlyArray<Listed> {
    return this.#items ?? []
  }

  /** Where the next page begins. `undefined` after the last one. */
  get next(): SortKey | undefined {
    return this.#hasMore ? this.#last : undefined
  }

  /** If there is nothing left to filter, every row is listed. */
  get #examinedMost(): number {
    return isExact(this.#query, this.#scan) ? this.#query.limit : mostRowsExamined
  }

  get #sliceRows(): number {
    return isExact(this.#query, this.#scan) ? this.#examinedMost + 1 : sliceRows
  }

  #lookOf({ namespace, timerId, uuid, state, fireId, revision }: ScannedHead): Look {
    const lives = state === "pending" ? {} : { lives: [{ fireId, minRevision: revision }] }
    return { key: { namespace, timerId, uuid }, ...lives, withPayload: this.#query.includePayload }
  }
}

type CountStep =
  /** The storage may count by itself. Otherwise the rows are scanned. */
  | { readonly kind: "count"; readonly scan: Scan }
  | { readonly kind: "scan"; readonly scan: Scan }
  | { readonly kind: "done" }

export class CountWalk {
  readonly #query: Filtered & { readonly limit: number }
  #scan: Scan
  readonly #canCount: boolean
  #count = 0
  #examined = 0
  #after: SortKey | undefined
  #isDone = false

  constructor(query: Filtered & { readonly limit: number }, canCount: boolean) {
    this.#query = query
    this.#scan = scanOf(query, false, true)
    this.#canCount = canCount
  }

  step(): CountStep {
    if (this.#isDone) return { kind: "done" }
    if (this.#canCount && isExact(this.#query, this.#scan))
      return { kind: "count", scan: { ...this.#scan, limit: this.#query.limit + 1 } }
    const after = this.#after === undefined ? {} : { exclusiveAfter: this.#after }
    const limit = Math.min(this.#examinedMost - this.#examined + 1, sliceRows)
    return { kind: "scan", scan: { ...this.#scan, ...after, limit } }
  }

  counted(rows: number): void {
    if (rows === 0 && canBeUnindexed(this.#query, this.#scan)) {
      this.#scan = scanOf(this.#query, false, false)
      return
    }
    this.#count = rows
    this.#examined = rows
    this.#isDone = true
  }

  scanned(heads: ReadonlyArray<ScannedHead>, asked: Scan): void {
    if (heads.length === 0 && this.#after === undefined && canBeUnindexed(this.#query, asked)) {
      this.#scan = scanOf(this.#query, false, false)
      return
    }
    for (const head of heads) {
      this.#examined++
      this.#after = head.place
      if (this.#examined <= this.#examinedMost && matches(head, this.#query)) this.#count++
    }
    this.#isDone =
      heads.length < asked.limit || this.#examined > this.#examinedMost || this.#count > this.#query.limit
  }

  get #examinedMost(): number {
    const { limit } = this.#query
    return isExact(this.#query, this.#scan) ? limit : Math.max(limit, mostRowsCounted)
  }

  get result(): { readonly count: number; readonly capped: boolean } {
    const { limit } = this.#query
    return {
      count: Math.min(this.#count, limit),
      capped: this.#count > limit || this.#examined > this.#examinedMost,
    }
  }
}

/** The scan that bounds the rows as far as an order can. `matches` filters the rest. */
const scanOf = (query: Filtered, descending: boolean, byWord: boolean): Scan => {
  const word = byWord ? wordOf(query) : undefined
  const state = query.state === "pending" ? {} : { state: query.state }
  const base = { namespace: query.namespace, ...state, isDescending: descending, limit: 0 }
  if (isById(query)) return { ...base, order: orderOf(query), ...idBounds(query) }
  return {
    ...base,
    ...(word === undefined ? { order: orderOf(query) } : { order: "word", word }),
    ...(query.inclusiveFromMs === undefined ? {} : { inclusiveFromMs: query.inclusiveFromMs }),
    ...(query.exclusiveUntilMs === undefined ? {} : { exclusiveUntilMs: query.exclusiveUntilMs }),
  }
}

/**
 * Whether matching rows may be missing from the index. Earlier releases had no index, but their rows may have the
 * requested correlation id. Rows with tags are always in the index, because tags came with it.
 */
const canBeUnindexed = ({ tag, correlationId }: Filtered, { order }: Scan): boolean =>
  order === "word" && tag === undefined && correlationId !== undefined

const idBounds = ({
  timerId,
  idPrefix = "",
}: Filtered): Pick<Scan, "timerId" | "inclusiveFromId" | "exclusiveUntilId"> => {
  if (timerId !== undefined) return { timerId }
  const end = endOfPrefix(idPrefix)
  return { inclusiveFromId: idPrefix, ...(end === undefined ? {} : { exclusiveUntilId: end }) }
}

/** Whether the scan finds only matches. */
const isExact = (query: Filtered, { order }: Scan): boolean => {
  if (order === "word") return query.correlationId === undefined || query.tag === undefined
  if (query.correlationId !== undefined || query.tag !== undefined) return false
  if (!isById(query)) return true
  return (
    query.state === "pending" && query.inclusiveFromMs === undefined && query.exclusiveUntilMs === undefined
  )
}

type Matched = Pick<ScannedHead, "state" | "atMs" | "correlationId" | "tags">

const matches = ({ state, atMs, correlationId, tags }: Matched, query: Filtered): boolean =>
  state === query.state &&
  (query.inclusiveFromMs === undefined || atMs >= query.inclusiveFromMs) &&
  (query.exclusiveUntilMs === undefined || atMs < query.exclusiveUntilMs) &&
  (query.correlationId === undefined || correlationId === query.correlationId) &&
  (query.tag === undefined || (tags?.includes(query.tag) ?? false))

const headOf = (listed: Listed): Matched => {
  const isPending = listed.state === "pending"
  const { correlationId, tags } = isPending ? listed.timer : listed.life
  const atMs = isPending ? listed.timer.fireAt : listed.life.finishedAt
  return { state: listed.state, atMs, correlationId, ...(tags === undefined ? {} : { tags }) }
}
