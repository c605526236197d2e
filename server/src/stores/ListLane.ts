// A list over several namespaces and states is merged from lanes. A lane is one namespace in one state, read along one
// order of the storage. In a list of the pending timers of all namespaces, a lane is one shard. The position of a row
// in the merged list is (time or id, namespace, state, the rest of its place in its lane), so it depends on the row
// alone. A cursor is such a position. Each lane can begin after it, even the lane of a namespace that was created
// meanwhile. So no row is shown twice or left out. Only the lives of one key have another order: by revision. Revisions
// grow over all lives of a key, so the pending timer has the highest one.
import { mayLackWord } from "../domain/words.ts"
import type { Scan, ScannedHead, SortKey } from "../ports/ShardStorage.ts"
import type { ListedState, ListFilter, ListScope } from "../ports/TimerStore.ts"
import { isById, namesOf, orderOf, statesOf, wordOf } from "./ListOrder.ts"
import { isExact, needsDetails, timesOf } from "./rowMatches.ts"
import { compareUtf8, endOfPrefix } from "./Utf8Order.ts"

export interface LaneName {
  /** The name of a namespace, or the number of a shard. */
  readonly namespace: string | number
  readonly state: ListedState
}

/** The position that a walk has reached: the lane of its last row, and the place of this row in the lane. */
export interface WalkPlace extends LaneName {
  readonly place: SortKey
}

export class ListLane implements LaneName {
  readonly namespace: string | number
  readonly state: ListedState
  /** How many rows the next scan asks for. */
  rows: number
  #isExact: boolean
  #scan: Scan
  /** How the lane goes on if the index of words has nothing for the query. */
  #unindexed: Scan | undefined
  #after: SortKey | undefined
  #buffer: ReadonlyArray<ScannedHead> = []
  #next = 0
  #isAtEnd = false

  constructor({ namespace, state }: LaneName, query: ListFilter, walk: LaneWalk) {
    this.namespace = namespace
    this.state = state
    this.rows = walk.rows
    const { from } = walk
    const toLane = from === undefined ? 0 : compareLanes(this, from)
    const isOwn = from !== undefined && toLane === 0
    if (isOwn) this.#after = from.place
    // A walk goes on along the order in which it began. A place in the index of words has three parts.
    const scan = scanOf(query, this, walk, from === undefined || from.place.length === 3)
    this.#isExact = isExact(query, state, scan)
    this.#scan = from === undefined || isOwn ? scan : startingAt(scan, from.place, toLane)
    if (from === undefined && scan.order === "word" && canBeUnindexed(query))
      this.#unindexed = scanOf(query, this, walk, false)
  }

  /** Whether the scan finds only matches. */
  get isExact(): boolean {
    return this.#isExact
  }

  /** Whether the rows are lives of one key, which are sorted by revision. */
  get isOfOneKey(): boolean {
    return this.#scan.timerId !== undefined
  }

  scan(mostRows: number): Scan {
    const after = this.#after === undefined ? {} : { exclusiveAfter: this.#after }
    return { ...this.#scan, ...after, limit: Math.min(this.rows, mostRows) }
  }

  /** The scan of the whole lane, for a count, which begins at no cursor. */
  get whole(): Scan {
    return this.#scan
  }

  /** Takes the rows that the scan has found. A lane without a next row that is not at its end must be filled again. */
  filled(heads: ReadonlyArray<ScannedHead>, asked: Scan): void {
    this.#buffer = heads
    this.#next = 0
    this.#isAtEnd = heads.length < asked.limit
    this.#after = heads.at(-1)?.place ?? this.#after
    this.rows *= 2
  }

  /** The next row. `undefined` if the lane must be filled or is at its end. */
  get head(): ScannedHead | undefined {
    return this.#buffer[this.#next]
  }

  advance(): void {
    this.#next++
  }

  get isAtEnd(): boolean {
    return this.#isAtEnd
  }

  /** Begins again without the index of words. `false` if that cannot find more. */
  leaveIndex(): boolean {
    if (this.#unindexed === undefined) return false
    this.#scan = this.#unindexed
    this.#unindexed = undefined
    this.#isExact = false
    this.#isAtEnd = false
    return true
  }
}

export interface LaneWalk {
  readonly isDescending: boolean
  readonly from?: WalkPlace | undefined
  /** How many rows the first scan of each lane asks for. */
  readonly rows: number
}

/** Lanes in which nothing can match are left out. Delivered and pending timers have no reason. */
export const lanesOf = (query: ListFilter & ListScope, walk: LaneWalk): Array<ListLane> => {
  const states = statesOf(query).filter(
    (state) => query.reason === undefined || state === "dead" || state === "cancelled",
  )
  return namesOf(query).flatMap((namespace) =>
    states.map((state) => new ListLane({ namespace, state }, query, walk)),
  )
}

/** With this many lanes a step takes only a few milliseconds. */
const mostLanesAtOnce = 250

/** Takes as many lanes from the front of the queue as may be filled at once, at least one. */
export const takeLanes = (queue: Array<ListLane>, mostRows: number): Array<ListLane> => {
  let count = 0
  for (let rows = 0; count < Math.min(queue.length, mostLanesAtOnce); count++) {
    rows += queue[count]?.rows ?? 0
    if (count > 0 && rows > mostRows) break
  }
  return queue.splice(0, count)
}

/** Compares two lanes by their next rows, in ascending order. */
export const compareHeads = (a: ListLane, b: ListLane): number => {
  const [left, right] = [a.head, b.head]
  if (left === undefined || right === undefined) throw new Error("a lane without a row has no place")
  if (a.isOfOneKey) return left.revision - right.revision
  return compareFirst(firstOf(left.place), firstOf(right.place)) || compareLanes(a, b)
}

/**
 * Whether matching rows may be missing from the index of words. Rows with tags are always in the index, because tags
 * came with it. If the index has rows for the query, in any lane, the walk takes only these.
 */
export const canBeUnindexed = (query: ListFilter): boolean =>
  query.tag === undefined &&
  query.correlationId !== undefined &&
  mayLackWord(query.correlationId) &&
  wordOf(query) !== undefined

const stateOrder: ReadonlyArray<ListedState> = ["pending", "delivered", "cancelled", "dead"]

const compareLanes = (a: LaneName, b: LaneName): number =>
  compareFirst(a.namespace, b.namespace) || stateOrder.indexOf(a.state) - stateOrder.indexOf(b.state)

/** The time or the id of a place. In the index of words it comes after the word. */
const firstOf = (place: SortKey): number | string => (place.length === 3 ? place[1] : place[0])

const compareFirst = (a: number | string, b: number | string): number =>
  typeof a === "string" && typeof b === "string" ? compareUtf8(a, b) : Number(a) - Number(b)

/**
 * Limits the scan of another lane to the rows after `place`. `toLane` is below 0 if that lane comes before this one.
 */
const startingAt = (scan: Scan, place: SortKey, toLane: number): Scan => {
  if (scan.timerId !== undefined) return startingAtRevision(scan, scan.timerId, place)
  const first = firstOf(place)
  // Rows of the same time or id come later in this lane if the lane comes later.
  const isAheadOfPlace = toLane > 0 !== scan.isDescending
  const isAtNext = isAheadOfPlace === scan.isDescending
  if (typeof first === "number") {
    const bound = isAtNext ? first + 1 : first
    const { inclusiveFromMs = bound, exclusiveUntilMs = bound } = scan
    return scan.isDescending
      ? { ...scan, exclusiveUntilMs: Math.min(exclusiveUntilMs, bound) }
      : { ...scan, inclusiveFromMs: Math.max(inclusiveFromMs, bound) }
  }
  // No id contains a control character, so no other id is between `first` and this bound.
  const bound = isAtNext ? `${first}\u0001` : first
  const { inclusiveFromId = bound, exclusiveUntilId = bound } = scan
  return scan.isDescending
    ? { ...scan, exclusiveUntilId: compareUtf8(bound, exclusiveUntilId) < 0 ? bound : exclusiveUntilId }
    : { ...scan, inclusiveFromId: compareUtf8(bound, inclusiveFromId) > 0 ? bound : inclusiveFromId }
}

/** The same for the lives of one key. The place of the pending timer, which has the highest revision, has no revision. */
const startingAtRevision = (scan: Scan, timerId: string, place: SortKey): Scan => {
  const [, revision = Number.MAX_SAFE_INTEGER] = place
  if (scan.order !== "pendingId") return { ...scan, exclusiveAfter: [timerId, Number(revision)] }
  return scan.isDescending ? { ...scan, exclusiveAfter: [timerId] } : scan
}

/** The scan that bounds the rows as far as an order can. `rowMatches` filters the rest. */
const scanOf = (
  query: ListFilter,
  { namespace, state }: LaneName,
  walk: LaneWalk,
  isByWord: boolean,
): Scan => {
  const word = isByWord ? wordOf(query) : undefined
  const base = {
    namespace,
    ...(state === "pending" ? {} : { state }),
    isDescending: walk.isDescending,
    ...(needsDetails(query, state) ? { withDetails: true as const } : {}),
    limit: 0,
  }
  if (isById(query)) return { ...base, order: orderOf(query, state), ...idBounds(query) }
  return {
    ...base,
    ...(word === undefined ? { order: orderOf(query, state) } : { order: "word", word }),
    ...timesOf(query, state),
  }
}

const idBounds = ({
  timerId,
  idPrefix = "",
}: ListFilter): Pick<Scan, "timerId" | "inclusiveFromId" | "exclusiveUntilId"> => {
  if (timerId !== undefined) return { timerId }
  const end = endOfPrefix(idPrefix)
  return { inclusiveFromId: idPrefix, ...(end === undefined ? {} : { exclusiveUntilId: end }) }
}
