// The queue of one member of a group of the local bus. Messages wait here, in order, for room in the member's intake.
import { Effect, Latch } from "effect"
import type { Incoming } from "../Incoming.ts"
import type { Intake } from "../Intake.ts"
import type { Sent } from "./LocalUndeliverable.ts"

/** A message on the bus. */
export interface Posted extends Sent {
  /** In the order of publishing. */
  readonly sequence: number
  /** The bus drops repeats by this id. A replayed message has none. */
  readonly id: string | undefined
  /** Groups that have not handled it yet. */
  openCopies: number
  /** Opens when the last group has handled it. */
  readonly handled: Latch.Latch
}

/** The same message for one of several groups. */
export interface Copy {
  readonly posted: Posted
  /** The first is 1. */
  readonly delivery: number
}

export class Mailbox {
  /** False as soon as the subscription begins to close. Then nothing new is sent here. */
  isOpen = true
  /** False when the subscription has closed. Then messages that come back go to other members. */
  isThere = true
  #queued: Array<Copy> = []
  readonly #hasMail = Latch.makeUnsafe(false)

  put(copy: Copy): void {
    this.#queued.push(copy)
    this.#hasMail.openUnsafe()
  }

  /** Removes and returns all that is left. */
  empty(): ReadonlyArray<Copy> {
    const left = this.#queued
    this.#queued = []
    return left
  }

  /** Never ends. Passes on as many messages as the intake has room for. */
  feed(intake: Intake, toIncoming: (copy: Copy) => Incoming): Effect.Effect<never> {
    const self = this
    return Effect.gen(function* () {
      for (;;) {
        yield* self.#hasMail.await
        // Runs in a turn of its own, not in the call that published.
        yield* Effect.yieldNow
        yield* intake.awaitRoom(1)
        while (intake.room() > 0) {
          const copy = self.#queued.shift()
          if (copy === undefined) break
          intake.take(toIncoming(copy))
        }
        if (self.#queued.length === 0) self.#hasMail.closeUnsafe()
      }
    })
  }
}
