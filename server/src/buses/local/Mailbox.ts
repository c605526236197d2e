// What waits for one subscription of the local bus until its intake has room, in order.
import { Effect, Latch } from "effect"
import type { Subscription } from "../../ports/Bus.ts"
import type { Delivered } from "../Delivered.ts"
import type { Intake } from "../Intake.ts"
import type { Sent } from "./LocalDeadLetters.ts"

/** A message on the bus. */
export interface Posted extends Sent {
  /** In the order of publishing. */
  readonly sequence: number
  /** Brokers drop repeats by it; a message that is replayed has none. */
  readonly id: string | undefined
  /** Nothing if it cannot be told. */
  readonly type: string | undefined
  /** Copies that are not handled yet. */
  openCopies: number
  /** Opens when the last copy is handled. */
  readonly handled: Latch.Latch
}

/** The same message for one of several subscriptions. */
export interface Copy {
  readonly posted: Posted
  /** The first is 1. */
  readonly delivery: number
}

export class Mailbox {
  readonly subscription: Subscription
  /** False as soon as its subscription begins to close: nothing new is sent here. */
  isOpen = true
  /** False when its subscription has closed: what comes back is for others. */
  isThere = true
  #queued: Array<Copy> = []
  readonly #hasMail = Latch.makeUnsafe(false)

  constructor(subscription: Subscription) {
    this.subscription = subscription
  }

  put(copy: Copy): void {
    this.#queued.push(copy)
    this.#hasMail.openUnsafe()
  }

  /** Takes all that is left. */
  empty(): ReadonlyArray<Copy> {
    const left = this.#queued
    this.#queued = []
    return left
  }

  /** For ever: hands on as much as there is room for. */
  feed(intake: Intake, deliver: (copy: Copy) => Delivered): Effect.Effect<never> {
    const self = this
    return Effect.gen(function* () {
      for (;;) {
        yield* self.#hasMail.await
        // In a turn of its own, not inside whoever published.
        yield* Effect.yieldNow
        yield* intake.awaitRoom(1)
        while (intake.room() > 0) {
          const copy = self.#queued.shift()
          if (copy === undefined) break
          intake.take(deliver(copy))
        }
        if (self.#queued.length === 0) self.#hasMail.closeUnsafe()
      }
    })
  }
}
