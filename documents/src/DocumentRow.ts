// A document as a row. Every adapter stores it in the same form: the value as JSON text, or null for a tombstone. This
// module does not use Effect, because a thread that owns a database loads it.
import type { DocumentChange, DocumentList, PresentDocument } from "./Documents.ts"

export const largestDocumentBytes = 256 * 1024
export const largestPage = 1_000
export const tombstonesKeptMs = 7 * 24 * 60 * 60 * 1_000

/**
 * How many old tombstones a removal clears. It is more than the one tombstone that the removal adds, so they do not
 * pile up.
 */
export const tombstonesCleared = 10

export interface DocumentRow {
  readonly kind: string
  readonly id: string
  readonly version: number
  /** Null if the document was removed. */
  readonly json: string | null
  readonly updated_at: number
}

/** A write as adapters execute it. `json: null` removes the document. */
export interface WriteDocument {
  readonly kind: string
  readonly id: string
  readonly expectedVersion: number
  readonly json: string | null
  readonly updatedAt: number
}

/** The range of ids that a list reads. */
export interface IdRange {
  readonly kind: string
  readonly inclusiveFrom: string
  readonly exclusiveUntil: string
  readonly limit: number
}

/** The documents of a database, on one of its connections. Each call is one transaction. */
export interface DocumentCalls {
  /** Returns the new row, or `undefined` if the current version is not the expected one. */
  write(asked: WriteDocument): Promise<DocumentRow | undefined>
  /** `undefined` for a tombstone. */
  get(kind: string, id: string): Promise<DocumentRow | undefined>
  /** Sorted by id, without tombstones. */
  list(range: IdRange): Promise<ReadonlyArray<DocumentRow>>
  /** Sorted by version, with tombstones. */
  changesAfter(kind: string, version: number, limit: number): Promise<ReadonlyArray<DocumentRow>>
}

/**
 * Ids are printable ASCII from `!` to `~`. So a space sorts before everything that may follow an id, and DEL after
 * everything that may follow a prefix.
 */
export const rangeOf = (kind: string, { idPrefix = "", exclusiveAfterId, limit }: DocumentList): IdRange => ({
  kind,
  inclusiveFrom: exclusiveAfterId < idPrefix ? idPrefix : `${exclusiveAfterId} `,
  exclusiveUntil: `${idPrefix}\x7f`,
  limit,
})

/** Converts a row that `get` or a list returned. Those never return tombstones. */
export const presentOf = (row: DocumentRow): PresentDocument => {
  const { kind, id, version, updated_at: updatedAt, json } = row
  const value = parsed(json ?? "")
  return value === undefined
    ? { state: "unreadable", kind, id, version, updatedAt }
    : { state: "stored", kind, id, version, updatedAt, value }
}

export const changeOf = (row: DocumentRow): DocumentChange => {
  const { kind, id, version, updated_at: updatedAt, json } = row
  return json === null ? { state: "removed", kind, id, version, updatedAt } : presentOf(row)
}

/** `undefined` if the text is not JSON, because no JSON text has the value `undefined`. */
const parsed = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

const kindPattern = /^[a-z][A-Za-z0-9-]{0,39}$/
const idPattern = /^[!-~]{1,200}$/

/** The JSON text of a value, or why the document cannot be stored. */
export const checkDocument = (document: {
  readonly kind: string
  readonly id: string
  readonly value: unknown
  readonly updatedAt: number
}): { readonly json: string } | { readonly why: string } => {
  const { kind, id, value, updatedAt } = document
  if (!kindPattern.test(kind)) {
    return {
      why: `The kind of a document must be a letter a-z and up to 39 of A-Z, a-z, 0-9 and -, not ${quoted(kind)}.`,
    }
  }
  if (!idPattern.test(id)) {
    return {
      why: `The id of a document must be 1 to 200 printable ASCII characters without spaces, not ${quoted(id)}.`,
    }
  }
  if (!Number.isSafeInteger(updatedAt)) {
    return { why: `The time of a document must be whole milliseconds, not ${updatedAt}.` }
  }
  const json = textOf(value)
  if (json === undefined) return { why: `The value of ${kind} ${id} cannot be written as JSON.` }
  const bytes = new TextEncoder().encode(json).byteLength
  return bytes <= largestDocumentBytes
    ? { json }
    : {
        why: `The value of ${kind} ${id} has ${bytes} bytes as JSON; the limit is ${largestDocumentBytes}.`,
      }
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, 50))

const textOf = (value: unknown): string | undefined => {
  try {
    // JSON.stringify returns `undefined` for a function or for `undefined`, in spite of its declared type.
    return JSON.stringify(value) as string | undefined
  } catch {
    return undefined
  }
}
