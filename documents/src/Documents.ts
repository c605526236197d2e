// Small records that many processes share: settings, keys, jobs. Each has a kind, an id within its kind, a version and
// a JSON value. They are stored beside the data that they belong to, so that every node finds them and a backup
// contains them.
//
// Laws, which testkit/Documents.suite.ts checks for every adapter:
//  - Durability: an answered write survives a kill of the process.
//  - Expectation: a write names the version that it replaces, or 0 if there must be no document. If another write came
//    between, the write changes nothing and returns `undefined`.
//  - Order: versions increase over the whole store, in the order of commits. A reader that knows all changes of a kind
//    up to a version misses none if it asks for the changes after that version. Versions may have gaps but never
//    repeat.
//  - Fidelity: a value is read back as it was stored, as far as JSON can express it.
//  - Removal: a removed document leaves a tombstone, which only `changesAfter` returns. For `put` it counts as no
//    document. A tombstone stays for at least `tombstonesKeptMs` (by the times in the writes), then later removals
//    clear it. So a reader that has not asked for changes for that long must read everything again from version 0.
//  - Damage: a document whose text is not JSON is `unreadable`: it is returned with its key and without a value. It
//    neither fails the call nor hides other documents. A write that names its version replaces or removes it.
//  - Bounds: `checkDocument` refuses a document that is too large or has an invalid name, and then nothing is written.
//    A page has at most `largestPage` documents. A page that is shorter than its limit is the last one.
import { Context, type Effect, Schema } from "effect"

/**
 * A call failed. If it was a write, its result is unknown: it may or may not have happened. After a fatal error (I/O,
 * corruption) the process must acknowledge nothing more and should end.
 */
export class DocumentsError extends Schema.TaggedError<DocumentsError>()("DocumentsError", {
  message: Schema.String,
  isFatal: Schema.Boolean,
}) {}

/** A document that can never be stored: it is too large, has an invalid name, or is not JSON. */
export class DocumentRefused extends Schema.TaggedError<DocumentRefused>()("DocumentRefused", {
  message: Schema.String,
}) {}

interface DocumentHead {
  readonly kind: string
  readonly id: string
  readonly version: number
  /** When it was written, according to the writer's clock. */
  readonly updatedAt: number
}

export interface StoredDocument extends DocumentHead {
  readonly state: "stored"
  readonly value: unknown
}

export interface UnreadableDocument extends DocumentHead {
  readonly state: "unreadable"
}

export interface RemovedDocument extends DocumentHead {
  readonly state: "removed"
}

export type PresentDocument = StoredDocument | UnreadableDocument
export type DocumentChange = PresentDocument | RemovedDocument

export interface PutDocument {
  readonly kind: string
  readonly id: string
  /** 0 if there must be no document. */
  readonly expectedVersion: number
  readonly value: unknown
  readonly updatedAt: number
}

export type RemoveDocument = Omit<PutDocument, "value">

export interface DocumentList {
  readonly idPrefix?: string
  /** Empty to start at the beginning. */
  readonly exclusiveAfterId: string
  readonly limit: number
}

export class Documents extends Context.Service<
  Documents,
  {
    /** Returns the stored document, or `undefined` if the current version is not the expected one. */
    put(asked: PutDocument): Effect.Effect<StoredDocument | undefined, DocumentsError | DocumentRefused>
    /** Returns the tombstone, or `undefined` if the current version is not the expected one. */
    remove(asked: RemoveDocument): Effect.Effect<RemovedDocument | undefined, DocumentsError>
    get(kind: string, id: string): Effect.Effect<PresentDocument | undefined, DocumentsError>
    /** Sorted by id, bytewise. */
    list(kind: string, asked: DocumentList): Effect.Effect<ReadonlyArray<PresentDocument>, DocumentsError>
    /** The first changes after a version, sorted by version. Only the last change of each document is included. */
    changesAfter(
      kind: string,
      exclusiveAfterVersion: number,
      limit: number,
    ): Effect.Effect<ReadonlyArray<DocumentChange>, DocumentsError>
  }
>()("punctual/documents/Documents") {}
