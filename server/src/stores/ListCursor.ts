// The position where a list continues: the sort key of the last row. A fingerprint binds it to its query. So a cursor
// with another query is refused instead of skipping rows.
import { createHash } from "node:crypto"
import type { ScanOrder, SortKey } from "../ports/ShardStorage.ts"
import { InvalidCursor, type ListedState, type ListQuery } from "../ports/TimerStore.ts"
import type { LaneName, WalkPlace } from "./ListLane.ts"
import { isMerged, orderOf, statesOf, wordOf } from "./ListOrder.ts"

/** The cursor of a list over one namespace and one state does not name them. */
export const encodeCursor = (query: ListQuery, { namespace, state, place }: WalkPlace): string => {
  const lane = isMerged(query) ? [namespace, state] : []
  return Buffer.from(JSON.stringify([fingerprint(query), ...lane, ...place])).toString("base64url")
}

/** The place to continue after. `undefined` at the beginning. Throws `InvalidCursor`. */
export const decodeCursor = (query: ListQuery): WalkPlace | undefined => {
  if (query.cursor === undefined) return undefined
  const [print, ...parts] = parse(query.cursor)
  if (print !== fingerprint(query)) {
    throw new InvalidCursor({
      message: "cursor: it belongs to another query. Repeat the query that returned it, unchanged.",
    })
  }
  const lane = laneOf(query, parts)
  const key = isMerged(query) ? parts.slice(2) : parts
  if (!hasShapeOf(orderOf(query, lane.state), key) && !isWordPlace(query, key)) throw malformed()
  // The shape of each part has just been checked.
  return { ...lane, place: key as unknown as SortKey }
}

const laneOf = (query: ListQuery, [namespace, state]: ReadonlyArray<unknown>): LaneName => {
  const states = statesOf(query)
  if (!isMerged(query)) return { namespace: String(query.namespace), state: states[0] ?? "pending" }
  if (!isLaneOf(query, namespace)) throw malformed()
  const known = states.find((one): one is ListedState => one === state)
  if (known === undefined) throw malformed()
  return { namespace, state: known }
}

const isLaneOf = ({ namespace: of }: ListQuery, part: unknown): part is string | number =>
  typeof of === "string" || of.shards === undefined ? isText(part) : Number.isSafeInteger(part)

const malformed = (): InvalidCursor =>
  new InvalidCursor({
    message: "cursor: it is malformed. Pass nextCursor unchanged, or leave it out to start again.",
  })

const parse = (cursor: string): ReadonlyArray<unknown> => {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"))
    if (Array.isArray(parts)) return parts
  } catch {
    // Handled below, because the advice is the same for every kind of error.
  }
  throw malformed()
}

const isText = (part: unknown): boolean =>
  typeof part === "string" && part.isWellFormed() && !part.includes("\0")

const isFireId = (part: unknown): boolean =>
  typeof part === "string" && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(part)

const shapes: { readonly [order in ScanOrder]: ReadonlyArray<(part: unknown) => boolean> } = {
  due: [Number.isSafeInteger, isFireId],
  pendingId: [isText],
  end: [Number.isSafeInteger, Number.isSafeInteger],
  finishedId: [isText, Number.isSafeInteger],
  word: [isText, Number.isSafeInteger, isFireId],
}

/** Whether the list continues along the index of words. */
const isWordPlace = (query: ListQuery, key: ReadonlyArray<unknown>): boolean =>
  hasShapeOf("word", key) && key[0] === wordOf(query)

const hasShapeOf = (order: ScanOrder, key: ReadonlyArray<unknown>): boolean =>
  key.length === shapes[order].length && shapes[order].every((hasShape, index) => hasShape(key[index]))

const fingerprint = (query: ListQuery): string => {
  const { namespace, host, reason, error, minLateness } = query
  const details = [host, reason, error, minLateness?.ms]
  const hasDetails = details.some((detail) => detail !== undefined)
  return createHash("sha256")
    .update(
      JSON.stringify([
        typeof namespace === "string" ? namespace : namespace.asked,
        query.state,
        query.reversed,
        query.inclusiveFromMs,
        query.exclusiveUntilMs,
        query.idPrefix,
        query.timerId,
        query.correlationId,
        // Left out if not used, so that cursors from before there were tags and details stay valid.
        ...(query.tag === undefined && !hasDetails ? [] : [query.tag]),
        ...(hasDetails ? details : []),
      ]),
    )
    .digest("base64url")
    .slice(0, 10)
}
