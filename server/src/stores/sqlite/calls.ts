// The calls of the store's threads, and the types of their answers.

import type { DocumentRow, IdRange, WriteDocument } from "@punctual/documents/DocumentRow"
import type { Tally } from "../../domain/Decision.ts"
import type { TimerKey } from "../../domain/Timer.ts"
import type { NamedLife } from "../../domain/WriteItem.ts"
import type { Lease } from "../../ports/ShardLeases.ts"
import type {
  Counted,
  CountedBuckets,
  CountQuery,
  DueQuery,
  HistogramQuery,
  ListQuery,
} from "../../ports/TimerStore.ts"
import type { WalkPlace } from "../ListLane.ts"
import type { OpenFailureReason } from "./OpenFailure.ts"
import type { OpenOptions } from "./openDatabase.ts"
import type { Pack } from "./Pack.ts"

export interface WriterCalls {
  write(batches: Pack): Pack
  insertIfAbsent(batch: Pack): Pack
  prune(asked: { readonly exclusiveBeforeMs: number; readonly limit: number }): number
  owners(nothing: null): ReadonlyArray<Lease>
  claim(asked: { readonly expected: Lease; readonly node: string }): Lease | undefined
  renew(
    held: ReadonlyArray<{ readonly shard: number; readonly epoch: number }>,
  ): ReadonlyArray<{ readonly foreign: number } | undefined>
  release(asked: { readonly shard: number; readonly epoch: number }): void
  writeDocument(asked: WriteDocument): DocumentRow | undefined
}

export interface ReaderCalls {
  due(query: DueQuery): DuePack
  dueHeads(query: DueQuery): Pack
  find(asked: { readonly key: TimerKey; readonly life: NamedLife | undefined }): Pack
  list(asked: { readonly query: ListQuery; readonly from: WalkPlace | undefined }): WalkedPack
  count(query: CountQuery): Counted
  histogram(query: HistogramQuery): CountedBuckets
  tally(nothing: null): Tally
  document(asked: { readonly kind: string; readonly id: string }): DocumentRow | undefined
  documents(range: IdRange): ReadonlyArray<DocumentRow>
  documentsAfter(asked: DocumentsAfter): ReadonlyArray<DocumentRow>
  namespaces(asked: { readonly exclusiveAfter: string; readonly limit: number }): ReadonlyArray<string>
}

/** A page of due timers. */
export interface DuePack {
  readonly pack: Pack
  readonly isLast: boolean
}

/** A page of a list. Each row comes after its state. */
export interface WalkedPack {
  readonly pack: Pack
  readonly examined: number
  readonly next?: WalkPlace
}

export interface DocumentsAfter {
  readonly kind: string
  readonly version: number
  readonly limit: number
}

export interface ThreadOptions extends OpenOptions {
  readonly role: "writer" | "reader" | "keeper"
  /** After how many moves of timers a merge begins. */
  readonly layerMoves?: number | undefined
}

export type ThreadRequest =
  | { readonly call: number; readonly method: string; readonly args: unknown }
  /** Nobody waits for the answer of this call any more. */
  | { readonly drop: number }
  | { readonly close: true }

export type ThreadResponse =
  /** The writer has created and migrated the file, so that a reader can open it. */
  | { readonly kind: "fileReady" }
  | { readonly kind: "opened" }
  /** A line for the log, before the thread has opened or while it executes a long call. */
  | { readonly kind: "progress"; readonly message: string }
  | { readonly kind: "openFailed"; readonly reason: OpenFailureReason; readonly message: string }
  | { readonly kind: "answer"; readonly call: number; readonly value: unknown }
  | { readonly kind: "failed"; readonly call: number; readonly message: string }
  | { readonly kind: "fatal"; readonly message: string }
