/**
 * Two small records that all nodes share. The mark that keys are required for good. And the count of restores: a restore
 * must not revive keys that were revoked after the backup, so a key from before the last restore works only after an
 * administrator has confirmed it. A count needs no clocks.
 */
import type { DocumentRefused, Documents, DocumentsError } from "@punctual/documents/Documents"
import { Effect } from "effect"

const kind = "door"
const closedId = "closed"
const restoresId = "restores"
const recordsAtMost = 10

export class DoorRecords {
  readonly #documents: Documents["Service"]
  #version = 0
  #isClosed = false
  #restores = 0

  constructor(documents: Documents["Service"]) {
    this.#documents = documents
  }

  /** Whether the store was once used with an administrator's key file. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  get restores(): number {
    return this.#restores
  }

  get refresh(): Effect.Effect<void, DocumentsError> {
    return Effect.gen({ self: this }, function* () {
      const changes = yield* this.#documents.changesAfter(kind, this.#version, recordsAtMost)
      for (const change of changes) {
        const value = change.state === "stored" ? change.value : undefined
        if (change.id === closedId) this.#isClosed = true
        if (change.id === restoresId) this.#restores = countOf(value)
        this.#version = Math.max(this.#version, change.version)
      }
    })
  }

  /** From now on this store requires keys, also without the administrator's key file. */
  close(nowMs: number): Effect.Effect<void, DocumentsError | DocumentRefused> {
    return Effect.gen({ self: this }, function* () {
      if (this.#isClosed) return
      // If another node does the same at this moment, one of the two writes is enough.
      yield* this.#documents.put({ kind, id: closedId, expectedVersion: 0, value: true, updatedAt: nowMs })
      this.#isClosed = true
    })
  }

  /** For the restore command, on the restored store before anything else uses it. */
  raiseRestores(nowMs: number): Effect.Effect<void, DocumentsError | DocumentRefused> {
    return Effect.gen({ self: this }, function* () {
      const found = yield* this.#documents.get(kind, restoresId)
      const value =
        (found === undefined ? 0 : countOf(found.state === "stored" ? found.value : undefined)) + 1
      const expectedVersion = found?.version ?? 0
      yield* this.#documents.put({ kind, id: restoresId, expectedVersion, value, updatedAt: nowMs })
    })
  }
}

/** A count that cannot be read is higher than that of every key, so that no key works by mistake. */
const countOf = (value: unknown): number => (Number.isSafeInteger(value) ? Number(value) : 1e15)
