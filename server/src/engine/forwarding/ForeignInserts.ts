// Creates for shards that nobody owns, stored without an owner: the store takes each of whose key nothing is known
// and counts them, so that the next owner looks for them at once. A create that finds its key taken is answered if it
// asks for nothing that only an owner may do. A call that was given up may still arrive, after the create has been
// repeated, replaced and cancelled: then it finds the key's past, and does nothing.
import { Effect } from "effect"
import { decidePut } from "../../domain/decide.ts"
import { type InsertAnswer, itemBytes, type Put, type WriteAnswer } from "../../domain/WriteItem.ts"
import type { StoreError, TimerStore } from "../../ports/TimerStore.ts"
import type { CarriedWrite } from "./CarriedWrite.ts"

export interface InsertEvents {
  answered(carried: CarriedWrite, answer: WriteAnswer): void
  /** Its key is taken, by something that it would replace. */
  differs(carried: CarriedWrite): void
  /** Only an owner may store it: its key has had lives before, or the store takes no inserts without an owner. */
  needsOwner(carried: CarriedWrite): void
  /** It may have been stored or not. */
  failed(carried: CarriedWrite, message: string): void
  /** Its caller was answered before its turn came. */
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

  /** At most one create of a key at a time. How many there are in all, its callers bound. */
  add(carried: CarriedWrite, put: Put): void {
    const inserts = this.#queued.get(carried.shard)
    if (inserts === undefined) this.#queued.set(carried.shard, [{ carried, put }])
    else inserts.push({ carried, put })
    if (this.#isInserting) return
    this.#isInserting = true
    this.#run(this.#insertAll)
  }

  /** One shard after the other, until nothing is queued. */
  readonly #insertAll: Effect.Effect<void> = Effect.suspend(() => {
    const self = this
    return Effect.gen(function* () {
      // In a turn of its own: what is queued in one turn shares a call.
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

  /** What fits into one call. A shard with more takes its next turn after the others. */
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
        // An adapter that breaks has done nobody knows what.
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
      // The store was asked to insert only. What the create itself asks for of what is there, it is told.
      const meant = decidePut(put, { pending: answer.timer, last: undefined }).answer
      if (meant.result === "replaced") this.#events.differs(carried)
      else this.#events.answered(carried, meant)
    }
  }
}
