// Stores creates for shards that have no owner. The store inserts a create only if it knows nothing about its key. It
// counts these inserts, so that the next owner looks for them at once. A create whose key is taken is answered here if
// it asks for nothing that only an owner may do. A call that was given up may still arrive after the create was
// repeated, replaced and cancelled. It then finds the history of the key and does nothing.
import { Effect } from "effect"
import { decidePut } from "../../domain/decide.ts"
import { type InsertAnswer, itemBytes, type Put, type WriteAnswer } from "../../domain/WriteItem.ts"
import type { StoreError, TimerStore } from "../../ports/TimerStore.ts"
import type { CarriedWrite } from "./CarriedWrite.ts"

export interface InsertEvents {
  answered(carried: CarriedWrite, answer: WriteAnswer): void
  /** The key is taken by a timer that the create would replace. */
  differs(carried: CarriedWrite): void
  /**
   * Only an owner may store the create: the key has had lives before, or the store accepts no inserts without an owner.
   */
  needsOwner(carried: CarriedWrite): void
  /** The create may or may not have been stored. */
  failed(carried: CarriedWrite, message: string): void
  /** The caller was answered before the turn of this create. */
  over(carried: CarriedWrite): void
}

interface Insert {
  readonly carried: CarriedWrite
  readonly put: Put
}

export class ForeignInserts {
  readonly #store: Pick<TimerStore["Service"], "insertIfAbsent" | "limits">
  readonly #run: (effect: Effect.Effect<void>) => void
  readonly #withinMs: number
  readonly #events: InsertEvents
  readonly #queued = new Map<number, Array<Insert>>()
  #isInserting = false

  constructor(
    store: Pick<TimerStore["Service"], "insertIfAbsent" | "limits">,
    run: (effect: Effect.Effect<void>) => void,
    withinMs: number,
    events: InsertEvents,
  ) {
    this.#store = store
    this.#run = run
    this.#withinMs = withinMs
    this.#events = events
  }

  /** The caller adds at most one create of a key at a time, and bounds their total number. */
  add(carried: CarriedWrite, put: Put): void {
    const inserts = this.#queued.get(carried.shard)
    if (inserts === undefined) this.#queued.set(carried.shard, [{ carried, put }])
    else inserts.push({ carried, put })
    if (this.#isInserting) return
    this.#isInserting = true
    this.#run(this.#insertAll)
  }

  /** Inserts one shard after the other, until nothing is queued. */
  readonly #insertAll: Effect.Effect<void> = Effect.suspend(() => {
    const self = this
    return Effect.gen(function* () {
      // Runs in a turn of its own, so that creates queued in one turn share a call.
      yield* Effect.yieldNow
      for (;;) {
        const [shard] = self.#queued.keys()
        if (shard === undefined) break
        const taken = self.#take(shard)
        const batch = taken.filter(({ carried }) => !carried.isOver)
        for (const { carried } of taken) if (carried.isOver) self.#events.over(carried)
        if (batch.length > 0) yield* self.#insert(shard, batch)
      }
      self.#isInserting = false
    })
  })

  /** Takes what fits into one call. A shard with more gets its next turn after the others. */
  #take(shard: number): ReadonlyArray<Insert> {
    const { batchItems, batchBytes } = this.#store.limits
    const inserts = this.#queued.get(shard) ?? []
    let bytes = 0
    let count = 0
    for (const { put } of inserts) {
      bytes += itemBytes(put)
      if (count === batchItems || (bytes > batchBytes && count > 0)) break
      count++
    }
    this.#queued.delete(shard)
    if (count < inserts.length) this.#queued.set(shard, inserts.slice(count))
    return inserts.slice(0, count)
  }

  #insert(shard: number, batch: ReadonlyArray<Insert>): Effect.Effect<void> {
    for (const { carried } of batch) carried.isUnderWay = true
    const failed = (message: string) => {
      for (const { carried } of batch) {
        carried.isUnderWay = false
        carried.mayBeInserted = true
        if (carried.isOver) this.#events.over(carried)
        else this.#events.failed(carried, message)
      }
    }
    return this.#store
      .insertIfAbsent(
        shard,
        batch.map(({ put }) => put),
      )
      .pipe(
        Effect.timeoutOrElse({
          duration: this.#withinMs,
          orElse: () => Effect.fail({ message: `the store did not answer within ${this.#withinMs} ms` }),
        }),
        // If an adapter throws, the result of its call is unknown.
        Effect.catchDefect((defect) => Effect.fail({ message: String(defect) })),
        Effect.match({
          onFailure: (error: StoreError | { readonly message: string }) => failed(error.message),
          onSuccess: (answers) => {
            for (const [index, { carried, put }] of batch.entries()) {
              carried.isUnderWay = false
              this.#judge(carried, put, answers[index])
            }
          },
        }),
      )
  }

  #judge(carried: CarriedWrite, put: Put, answer: InsertAnswer | undefined): void {
    if (carried.isOver) this.#events.over(carried)
    else if (answer === undefined) this.#events.failed(carried, "the store left a create without an answer")
    else if (answer.result === "needsOwner") this.#events.needsOwner(carried)
    else if (answer.result !== "exists") this.#events.answered(carried, answer)
    else {
      // The store only tried an insert. The answer to the create itself depends on the timer that is there.
      const meant = decidePut(put, { pending: answer.timer, last: undefined }).answer
      if (meant.result === "replaced") this.#events.differs(carried)
      else this.#events.answered(carried, meant)
    }
  }
}
