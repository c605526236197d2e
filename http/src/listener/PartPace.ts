// The pace at which one connection reads small parts of requests. If many connections send such parts, the next part of
// this one waits for its turn: the wire is paused, and the bytes stay in the system. The time of the request goes on.
import type { TurnBudget } from "./TurnBudget.ts"

export interface PartPaceOptions {
  /** What all connections together read. */
  readonly turn: TurnBudget
  readonly addressGroup: string
  /** The next part need not wait any longer. */
  readonly onTurn: () => void
}

export class PartPace {
  readonly #options: PartPaceOptions
  #isHeld = false

  constructor(options: PartPaceOptions) {
    this.#options = options
  }

  /** The next part waits. */
  get isHeld(): boolean {
    return this.#isHeld
  }

  /** A small part was read. */
  spend(): void {
    const { turn, addressGroup } = this.#options
    if (turn.isSpent) {
      this.#isHeld = true
      turn.defer(addressGroup, this.#takeTurn)
    } else turn.spend(1)
  }

  /** There is no next part: its head or its body is complete, or the client has gone. */
  release(): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    const { turn, addressGroup } = this.#options
    turn.forget(addressGroup, this.#takeTurn)
  }

  readonly #takeTurn = (): void => {
    this.#isHeld = false
    this.#options.turn.spend(1)
    this.#options.onTurn()
  }
}
