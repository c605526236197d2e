/** When each key was last used. Only every few minutes is written, so that a busy key costs no writes. */
import type { DocumentRefused, Documents, DocumentsError } from "@punctual/documents/Documents"
import { Effect } from "effect"

const usesKind = "keyUses"
const writtenEveryMs = 5 * 60_000
const writtenAtOnce = 20
/** At the end of the process. The uses of further keys are lost. */
const writtenAtEnd = 1_000

export class KeyUses {
  readonly #documents: Documents["Service"]
  readonly #usedAtMs = new Map<string, number>()
  readonly #writtenAtMs = new Map<string, number>()

  constructor(documents: Documents["Service"]) {
    this.#documents = documents
  }

  used(id: string, nowMs: number): void {
    this.#usedAtMs.set(id, nowMs)
  }

  /** Writes the uses of a few keys that were not written lately. */
  flush(nowMs: number): Effect.Effect<void, DocumentsError | DocumentRefused> {
    const due = [...this.#usedAtMs]
      .filter(([id]) => nowMs - (this.#writtenAtMs.get(id) ?? 0) >= writtenEveryMs)
      .slice(0, writtenAtOnce)
    return Effect.forEach(due, ([id, atMs]) => this.#write(id, atMs, nowMs), { discard: true })
  }

  /** Writes what is not written yet, at the end of the process. */
  flushRest(nowMs: number): Effect.Effect<void, DocumentsError | DocumentRefused> {
    const rest = [...this.#usedAtMs].slice(0, writtenAtEnd)
    return Effect.forEach(rest, ([id, atMs]) => this.#write(id, atMs, nowMs), { discard: true })
  }

  lastUsed(ids: ReadonlyArray<string>): Effect.Effect<ReadonlyMap<string, number>, DocumentsError> {
    return Effect.map(
      Effect.forEach(ids, (id) => this.#documents.get(usesKind, id), { concurrency: 4 }),
      (found) => {
        const uses = new Map<string, number>()
        for (const [index, id] of ids.entries()) {
          const document = found[index]
          const stored = document?.state === "stored" ? Number(document.value) : 0
          const atMs = Math.max(stored, this.#usedAtMs.get(id) ?? 0)
          if (atMs > 0) uses.set(id, atMs)
        }
        return uses
      },
    )
  }

  /** If another node writes at the same moment, its instant is as good. */
  #write(id: string, atMs: number, nowMs: number): Effect.Effect<void, DocumentsError | DocumentRefused> {
    return Effect.gen({ self: this }, function* () {
      const found = yield* this.#documents.get(usesKind, id)
      const expectedVersion = found?.version ?? 0
      yield* this.#documents.put({ kind: usesKind, id, expectedVersion, value: atMs, updatedAt: nowMs })
      this.#usedAtMs.delete(id)
      this.#writtenAtMs.set(id, nowMs)
    })
  }
}
