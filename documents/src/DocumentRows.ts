// Implements the port on top of rows, once for all adapters: it checks values, converts them to text, and converts rows
// back. An adapter only stores and finds rows.
import { Effect } from "effect"
import {
  changeOf,
  checkDocument,
  type DocumentRow,
  type IdRange,
  largestPage,
  presentOf,
  rangeOf,
  type WriteDocument,
} from "./DocumentRow.ts"
import { DocumentRefused, type Documents, DocumentsError, type StoredDocument } from "./Documents.ts"

/** What an adapter does. Each call is one transaction. */
export interface DocumentRows {
  /** Returns the new row, or `undefined` if the current version is not the expected one. */
  write(asked: WriteDocument): Effect.Effect<DocumentRow | undefined, DocumentsError>
  /** `undefined` for a tombstone. */
  get(kind: string, id: string): Effect.Effect<DocumentRow | undefined, DocumentsError>
  /** Sorted by id, without tombstones. */
  list(range: IdRange): Effect.Effect<ReadonlyArray<DocumentRow>, DocumentsError>
  /** Sorted by version, with tombstones. */
  changesAfter(
    kind: string,
    version: number,
    limit: number,
  ): Effect.Effect<ReadonlyArray<DocumentRow>, DocumentsError>
}

export const documentsOver = (rows: DocumentRows): Documents["Service"] => ({
  put: (asked) =>
    Effect.suspend((): Effect.Effect<StoredDocument | undefined, DocumentsError | DocumentRefused> => {
      const { value, ...rest } = asked
      const checked = checkDocument(asked)
      if ("why" in checked) return Effect.fail(new DocumentRefused({ message: checked.why }))
      return Effect.map(rows.write({ ...rest, json: checked.json }), (row): StoredDocument | undefined => {
        if (row === undefined) return undefined
        const { kind, id, version, updated_at: updatedAt } = row
        // Parsed from the text, so that later changes to the caller's own object do not show here.
        return { state: "stored", kind, id, version, updatedAt, value: JSON.parse(checked.json) }
      })
    }),
  remove: (asked) =>
    Effect.map(rows.write({ ...asked, json: null }), (row) => {
      if (row === undefined) return undefined
      const { kind, id, version, updated_at: updatedAt } = row
      return { state: "removed", kind, id, version, updatedAt }
    }),
  get: (kind, id) =>
    Effect.map(rows.get(kind, id), (row) => (row === undefined ? undefined : presentOf(row))),
  list: (kind, asked) =>
    bounded(asked.limit, () => Effect.map(rows.list(rangeOf(kind, asked)), (found) => found.map(presentOf))),
  changesAfter: (kind, version, limit) =>
    bounded(limit, () => Effect.map(rows.changesAfter(kind, version, limit), (found) => found.map(changeOf))),
})

/** A request for more than a page is an error of the program, not of its user. */
const bounded = <A>(
  limit: number,
  read: () => Effect.Effect<A, DocumentsError>,
): Effect.Effect<A, DocumentsError> =>
  Effect.suspend(() =>
    Number.isInteger(limit) && limit >= 1 && limit <= largestPage
      ? read()
      : new DocumentsError({
          message: `A page must have 1 to ${largestPage} documents, not ${limit}.`,
          isFatal: false,
        }),
  )
