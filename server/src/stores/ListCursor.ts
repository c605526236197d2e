// The position where a list continues: the sort key of the last row. A fingerprint binds it to its query. So a cursor
// with another query is refused instead of skipping rows.
import { createHash } from "node:crypto"
import type { ScanOrder, SortKey } from "../ports/ShardStorage.ts"
import { InvalidCursor, type ListQuery } from "../ports/TimerStore.ts"
import { orderOf, wordOf } from "./ListOrder.ts"

export const encodeCursor = (query: ListQuery, key: SortKey): string =>
  Buffer.from(JSON.stringify([fingerprint(query), ...key])).toString("base64url")

/** The key to continue after. `undefined` at the beginning. Throws `InvalidCursor`. */
export const decodeCursor = (query: ListQuery): SortKey | undefined => {
  if (query.cursor === undefined) return undefined
  const parts = parse(query.cursor)
  const [print, ...key] = parts
  if (print !== fingerprint(query)) {
    throw new InvalidCursor({
      message: "cursor: it belongs to another query. Repeat the query that returned it, unchanged.",
    })
  }
  if (!hasShapeOf(orderOf(query), key) && !isWordPlace(query, key)) throw malformed()
  // The shape of each part has just been checked.
  return key as unknown as SortKey
}

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

const fingerprint = (query: ListQuery): string =>
  createHash("sha256")
    .update(
      JSON.stringify([
        query.namespace,
        query.state,
        query.reversed,
        query.inclusiveFromMs,
        query.exclusiveUntilMs,
        query.idPrefix,
        query.timerId,
        query.correlationId,
        // Left out without a tag, so that cursors from before there were tags stay valid.
        ...(query.tag === undefined ? [] : [query.tag]),
      ]),
    )
    .digest("base64url")
    .slice(0, 10)
