// Documents in memory. They follow the laws of Documents.ts except durability. Several nodes of one process can share
// them, as in the simulation. Every call is synchronous, so each is a transaction.
import { Effect } from "effect"
import {
  type DocumentRow,
  type IdRange,
  tombstonesCleared,
  tombstonesKeptMs,
  type WriteDocument,
} from "../DocumentRow.ts"
import { documentsOver } from "../DocumentRows.ts"
import type { Documents } from "../Documents.ts"

export class MemoryDocuments {
  /** Sorted by version. */
  #rows = new Map<string, DocumentRow>()
  #version = 0

  write({ kind, id, expectedVersion, json, updatedAt }: WriteDocument): DocumentRow | undefined {
    const present = this.get(kind, id)
    if ((present?.version ?? 0) !== expectedVersion) return undefined
    if (json === null && present === undefined) return undefined
    const row: DocumentRow = { kind, id, version: ++this.#version, json, updated_at: updatedAt }
    // Deleted first, so that the rows stay sorted by version.
    this.#rows.delete(keyOf(kind, id))
    this.#rows.set(keyOf(kind, id), row)
    if (json === null) this.#clearTombstones(updatedAt - tombstonesKeptMs)
    return row
  }

  get(kind: string, id: string): DocumentRow | undefined {
    const row = this.#rows.get(keyOf(kind, id))
    return row?.json === null ? undefined : row
  }

  list({ kind, inclusiveFrom, exclusiveUntil, limit }: IdRange): ReadonlyArray<DocumentRow> {
    return [...this.#rows.values()]
      .filter((row) => row.kind === kind && row.json !== null)
      .filter(({ id }) => id >= inclusiveFrom && id < exclusiveUntil)
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .slice(0, limit)
  }

  changesAfter(kind: string, version: number, limit: number): ReadonlyArray<DocumentRow> {
    return [...this.#rows.values()]
      .filter((row) => row.kind === kind && row.version > version)
      .slice(0, limit)
  }

  /** A copy of the current documents. Later writes to the original do not change it. */
  copy(): MemoryDocuments {
    const copy = new MemoryDocuments()
    copy.#rows = new Map(this.#rows)
    copy.#version = this.#version
    return copy
  }

  /** Overwrites the text of a document to simulate damage, for tests. */
  damage(kind: string, id: string, json: string): void {
    const row = this.#rows.get(keyOf(kind, id))
    if (row !== undefined) this.#rows.set(keyOf(kind, id), { ...row, json })
  }

  #clearTombstones(exclusiveBeforeMs: number): void {
    const old = [...this.#rows].filter(([, row]) => row.json === null && row.updated_at < exclusiveBeforeMs)
    for (const [key] of old.slice(0, tombstonesCleared)) this.#rows.delete(key)
  }
}

export const documentsIn = (memory: MemoryDocuments): Documents["Service"] =>
  documentsOver({
    write: (asked) => Effect.sync(() => memory.write(asked)),
    get: (kind, id) => Effect.sync(() => memory.get(kind, id)),
    list: (range) => Effect.sync(() => memory.list(range)),
    changesAfter: (kind, version, limit) => Effect.sync(() => memory.changesAfter(kind, version, limit)),
  })

/** Neither a kind nor an id contains a space. */
const keyOf = (kind: string, id: string): string => `${kind} ${id}`
