// Documents in the stores. They are stored beside the timers, with the same connections and threads, so they fail like
// the store. This module converts those failures to the error of the documents port.
import type { DocumentRow, IdRange, WriteDocument } from "@punctual/documents/DocumentRow"
import { documentsOver } from "@punctual/documents/DocumentRows"
import { type Documents, DocumentsError } from "@punctual/documents/Documents"
import { Effect } from "effect"
import type { StoreError } from "../ports/TimerStore.ts"

/** The calls of a store's documents, which fail with the store's error. */
export interface StoreDocumentRows {
  write(asked: WriteDocument): Effect.Effect<DocumentRow | undefined, StoreError>
  get(kind: string, id: string): Effect.Effect<DocumentRow | undefined, StoreError>
  list(range: IdRange): Effect.Effect<ReadonlyArray<DocumentRow>, StoreError>
  changesAfter(
    kind: string,
    version: number,
    limit: number,
  ): Effect.Effect<ReadonlyArray<DocumentRow>, StoreError>
}

export const storeDocuments = (rows: StoreDocumentRows): Documents["Service"] =>
  documentsOver({
    write: (asked) => asDocumentsError(rows.write(asked)),
    get: (kind, id) => asDocumentsError(rows.get(kind, id)),
    list: (range) => asDocumentsError(rows.list(range)),
    changesAfter: (kind, version, limit) => asDocumentsError(rows.changesAfter(kind, version, limit)),
  })

const asDocumentsError = <A>(call: Effect.Effect<A, StoreError>): Effect.Effect<A, DocumentsError> =>
  Effect.mapError(call, ({ message, isFatal }) => new DocumentsError({ message, isFatal }))
