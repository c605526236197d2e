// Small records that many processes share: settings, keys, jobs. Each has a kind, an id within its kind, a version and a
// JSON value. They are stored beside the data that they belong to, so that every node finds them and a backup has them.
//
// Laws, which testkit/Documents.suite.ts checks for every adapter:
//  - Durability: an answered write survives a kill of the process.
//  - Expectation: a write names the version that it replaces, 0 if there must be no document. If another write came
//    between, the write changes nothing and is answered `undefined`.
//  - Order: versions rise over the whole store, in the order of commits. Whoever has read all changes of a kind up to a
//    version misses none by asking for the changes after it. Versions may skip values; no version is given twice.
//  - What is stored comes back the same, as far as JSON carries it.
//  - Removal: a removed document leaves a tombstone, which only `changesAfter` answers. For `put` it counts as no
//    document. A tombstone is kept for at least `tombstonesKeptMs` (by the times that writes name), then later removals
//    clear it away. So a reader that has not asked for changes for that long must read everything again from version 0.
//  - Damage: a document whose text is not JSON is `unreadable`: it is answered by its key, without a value, and neither
//    fails the call nor hides its neighbours. A write that names its version replaces or removes it.
//  - Bounds: `checkDocument` refuses what is too large or badly named, and then nothing was written. A page has at most
//    `largestPage` documents. A page that is shorter than its limit is the last one.
import { Context, type Effect, Schema } from "effect"

/**
 * A call that failed. The result of a write is then unknown: it may or may not have happened. After a fatal error (I/O,
 * corruption) nothing may be acknowledged any more: the process should end.
 */
export class DocumentsError extends Schema.TaggedError<DocumentsError>()("DocumentsError", {
  message: Schema.String,
  isFatal: Schema.Boolean,
}) {}

/** A document that cannot be stored, whoever tries again: it is too large, badly named, or not JSON. */
export class DocumentRefused extends Schema.TaggedError<DocumentRefused>()("DocumentRefused", {
  message: Schema.String,
}) {}

interface DocumentHead {
  readonly kind: string
  readonly id: string
  readonly version: number
  /** When it was written, by the clock of the writer. */
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
  /** 0: there must be no document. */
  readonly expectedVersion: number
  readonly value: unknown
  readonly updatedAt: number
}

export type RemoveDocument = Omit<PutDocument, "value">

export interface DocumentList {
  readonly idPrefix?: string
  /** Empty: from the beginning. */
  readonly exclusiveAfterId: string
  readonly limit: number
}

export class Documents extends Context.Service<
  Documents,
  {
    /** Answers what is stored now, or undefined if the expected version is not what is there. */
    put(asked: PutDocument): Effect.Effect<StoredDocument | undefined, DocumentsError | DocumentRefused>
    /** Answers the tombstone, or undefined if the expected version is not what is there. */
    remove(asked: RemoveDocument): Effect.Effect<RemovedDocument | undefined, DocumentsError>
    get(kind: string, id: string): Effect.Effect<PresentDocument | undefined, DocumentsError>
    /** In the bytewise order of ids. */
    list(kind: string, asked: DocumentList): Effect.Effect<ReadonlyArray<PresentDocument>, DocumentsError>
    /** The first changes after a version, in the order of versions; of a document that changed often only the last. */
    changesAfter(
      kind: string,
      exclusiveAfterVersion: number,
      limit: number,
    ): Effect.Effect<ReadonlyArray<DocumentChange>, DocumentsError>
  }
>()("punctual/documents/Documents") {}
