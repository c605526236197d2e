/**
 * Removes audit records that have expired, and the oldest records if there are too many. All nodes do this. That is
 * harmless: a removal names the version that it removes, so of two removals of a record the second changes nothing. Each
 * removal is a short write of its own, and there is a pause after each slice, so other writes get their turn.
 */
import type { Documents, DocumentsError, PresentDocument } from "@punctual/documents/Documents"
import { Effect } from "effect"
import { afterInstant } from "./AuditId.ts"

export const auditKind = "audit"

export interface TrailBounds {
  readonly now: () => number
  readonly retentionMs: number
  readonly recordsMax: number
}

const roundEveryMs = 60_000
const slicePauseMs = 20
const slice = 200
/** If there are too many records, so many stay. So the trail is not counted again after every few records. */
const shareKept = 0.9

/** Never ends. If the store fails, the next round tries again. */
export const keepTrailBounded = (
  documents: Documents["Service"],
  bounds: TrailBounds,
): Effect.Effect<never> => {
  const trail = new BoundedTrail(documents, bounds)
  return trail.round.pipe(
    Effect.catch(({ message }) => Effect.logWarning(`the audit trail was not pruned: ${message}`)),
    Effect.andThen(Effect.sleep(roundEveryMs)),
    Effect.forever,
  )
}

class BoundedTrail {
  readonly #documents: Documents["Service"]
  readonly #bounds: TrailBounds
  /** All records up to this version have been counted. */
  #version = 0
  /** At least as many as there are: removals of expired records, and of other nodes, are not subtracted. */
  #count = 0

  constructor(documents: Documents["Service"], bounds: TrailBounds) {
    this.#documents = documents
    this.#bounds = bounds
  }

  get round(): Effect.Effect<void, DocumentsError> {
    return Effect.gen({ self: this }, function* () {
      const { now, retentionMs, recordsMax } = this.#bounds
      yield* this.#walk(afterInstant(now() - retentionMs), (document) => this.#remove(document))
      yield* this.#countNew
      if (this.#count > recordsMax) yield* this.#removeSurplus
    })
  }

  /** Reads only what is new since the last round. */
  get #countNew(): Effect.Effect<void, DocumentsError> {
    return Effect.gen({ self: this }, function* () {
      for (;;) {
        const changes = yield* this.#documents.changesAfter(auditKind, this.#version, slice)
        this.#count += changes.filter(({ state }) => state !== "removed").length
        this.#version = changes.at(-1)?.version ?? this.#version
        if (changes.length < slice) return
        yield* Effect.sleep(slicePauseMs)
      }
    })
  }

  /** Counts exactly, from the newest record on, and removes the oldest records if there are too many. */
  get #removeSurplus(): Effect.Effect<void, DocumentsError> {
    return Effect.gen({ self: this }, function* () {
      const { recordsMax } = this.#bounds
      const count = yield* this.#walk("", () => Effect.void)
      this.#count = count
      if (count <= recordsMax) return
      const kept = Math.floor(recordsMax * shareKept)
      let seen = 0
      yield* this.#walk("", (document) => (++seen > kept ? this.#remove(document) : Effect.void))
      this.#count = kept
    })
  }

  #remove({ kind, id, version }: PresentDocument): Effect.Effect<unknown, DocumentsError> {
    const updatedAt = this.#bounds.now()
    return this.#documents.remove({ kind, id, expectedVersion: version, updatedAt })
  }

  /** Visits the records after an id, newest first, and returns how many there were. */
  #walk(
    exclusiveAfterId: string,
    visit: (document: PresentDocument) => Effect.Effect<unknown, DocumentsError>,
  ): Effect.Effect<number, DocumentsError> {
    return Effect.gen({ self: this }, function* () {
      let lastId = exclusiveAfterId
      let count = 0
      for (;;) {
        const found = yield* this.#documents.list(auditKind, { exclusiveAfterId: lastId, limit: slice })
        for (const document of found) yield* visit(document)
        count += found.length
        lastId = found.at(-1)?.id ?? lastId
        if (found.length < slice) return count
        yield* Effect.sleep(slicePauseMs)
      }
    })
  }
}
