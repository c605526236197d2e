// The steps of creates for a shard without an owner, like Deciding.ts. Timers of unused keys are stored. The others are
// answered with what is stored there.

import type { Known } from "../domain/Decision.ts"
import { decideInsert } from "../domain/decide.ts"
import type { Timer } from "../domain/Timer.ts"
import { refusedAsUnreadable } from "../domain/unreadableKey.ts"
import type { InsertAnswer, Put } from "../domain/WriteItem.ts"
import type { Inserted, Look } from "../ports/ShardStorage.ts"
import { WriteGivenUp, whyRefused } from "./Deciding.ts"
import { answerAsExpected } from "./keyChangeOf.ts"

type InsertStep =
  | { readonly kind: "insert"; readonly timers: ReadonlyArray<Timer> }
  | { readonly kind: "look"; readonly looks: ReadonlyArray<Look> }
  | { readonly kind: "done" }

interface Entry {
  readonly put: Put
  readonly index: number
}

/** How often a key may look unused and then be in use when its timer is inserted. */
const mostTries = 3

export class Inserting {
  readonly answers: Array<InsertAnswer>
  #toInsert: ReadonlyArray<Entry>
  #toLook: ReadonlyArray<Entry> = []
  #tries = 0

  constructor(puts: ReadonlyArray<Put>, mostItemBytes: number) {
    this.answers = puts.map((put) => whyRefused(put, mostItemBytes) ?? { result: "needsOwner" })
    this.#toInsert = puts.flatMap((put, index) =>
      this.answers[index]?.result === "unstorable" ? [] : [{ put, index }],
    )
  }

  step(): InsertStep {
    if (this.#toLook.length > 0) return { kind: "look", looks: this.#toLook.map(lookOf) }
    if (this.#toInsert.length === 0) return { kind: "done" }
    if (++this.#tries > mostTries) throw new WriteGivenUp("a key changed while its timer was inserted")
    // A second create of a key finds the first one, like any later create.
    return { kind: "insert", timers: this.#toInsert.map(({ put }) => put.timer) }
  }

  inserted(results: ReadonlyArray<Inserted>): void {
    this.#toLook = this.#toInsert.filter(({ put, index }, place) => {
      const result = results[place]
      if (result === undefined || result === "missed") return true
      this.answers[index] =
        result === "stored" ? answerAsExpected(put) : { result: "unstorable", reason: result.refused }
      return false
    })
    this.#toInsert = []
  }

  looked(found: ReadonlyArray<Known>): void {
    this.#toInsert = this.#toLook.filter(({ put, index }, place) => {
      const known = found[place]
      if (known === undefined) return true
      const decision = decideInsert(put, known)
      const refused = refusedAsUnreadable(decision, known)
      if (refused === undefined && decision.pending !== undefined) return true
      this.answers[index] = refused ?? decision.answer
      return false
    })
    this.#toLook = []
  }
}

const lookOf = ({ put: { timer } }: Entry): Look => ({
  key: { namespace: timer.namespace, timerId: timer.timerId, uuid: timer.uuid },
  withPayload: true,
})
