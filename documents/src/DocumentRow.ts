// A document as a row, which every adapter keeps alike: the value as JSON text, or no text for a tombstone. This module
// does without Effect, because a thread that owns a database loads it.
import type { DocumentChange, DocumentList, PresentDocument } from "./Documents.ts"

export const largestDocumentBytes = 256 * 1024
export const largestPage = 1_000
export const tombstonesKeptMs = 7 * 24 * 60 * 60 * 1_000

/** How many old tombstones a removal clears away: more than the one that it adds, so that they do not pile up. */
export const tombstonesCleared = 10

export interface DocumentRow {
  readonly kind: string
  readonly id: string
  readonly version: number
  /** Null: the document was removed. */
  readonly json: string | null
  readonly updated_at: number
}

/** A write as adapters carry it out. `json: null` removes. */
export interface WriteDocument {
  readonly kind: string
  readonly id: string
  readonly expectedVersion: number
  readonly json: string | null
  readonly updatedAt: number
}

/** The range of ids that a list walks. */
export interface IdRange {
  readonly kind: string
  readonly inclusiveFrom: string
  readonly exclusiveUntil: string
  readonly limit: number
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

/** A row that `get` or a list answers: those leave tombstones out. */
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

/** No JSON text stands for `undefined`. */
const parsed = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

const kindPattern = /^[a-z][A-Za-z0-9-]{0,39}$/
const idPattern = /^[!-~]{1,200}$/

/** The text of a value, or why the document cannot be stored. */
export const checkDocument = (document: {
  readonly kind: string
  readonly id: string
  readonly value: unknown
  readonly updatedAt: number
}): { readonly json: string } | { readonly why: string } => {
  const { kind, id, value, updatedAt } = document
  if (!kindPattern.test(kind)) {
    return {
      why: `The kind of a document is a letter a-z and at most 39 of A-Z, a-z, 0-9 and -, not ${quoted(kind)}.`,
    }
  }
  if (!idPattern.test(id)) {
    return {
      why: `The id of a document is 1 to 200 printable ASCII characters without spaces, not ${quoted(id)}.`,
    }
  }
  if (!Number.isSafeInteger(updatedAt)) {
    return { why: `The time of a document is whole milliseconds, not ${updatedAt}.` }
  }
  const json = textOf(value)
  if (json === undefined) return { why: `The value of ${kind} ${id} cannot be written as JSON.` }
  const bytes = new TextEncoder().encode(json).byteLength
  return bytes <= largestDocumentBytes
    ? { json }
    : {
        why: `The value of ${kind} ${id} has ${bytes} bytes as JSON; a document has at most ${largestDocumentBytes}.`,
      }
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, 50))

const textOf = (value: unknown): string | undefined => {
  try {
    // Of a function or of undefined there is no text, whatever the declared type says.
    return JSON.stringify(value) as string | undefined
  } catch {
    return undefined
  }
}
