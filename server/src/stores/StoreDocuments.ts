// Documents as the stores keep them: beside the timers, by the same connections and threads, so that their failures are
// the store's. Here those failures get the name that the port of documents has for them.
import type { DocumentRow, IdRange, WriteDocument } from "@punctual/documents/DocumentRow"
import { documentsOver } from "@punctual/documents/DocumentRows"
import { type Documents, DocumentsError } from "@punctual/documents/Documents"
import { Effect } from "effect"
import type { StoreError } from "../ports/TimerStore.ts"

/** The calls of a store's documents, which fail as the store does. */
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
