// Looks on as deaths are told of. No death is stored before the timer that tells of it, and none is told that did not happen.
// Clients know nothing of the telling timers, so the history leaves them out, and so does the tally that it is compared with.
import { addTallies, emptyTally, type Tally } from "../../src/domain/Decision.ts"
import type { Death } from "../../src/domain/Timer.ts"
import { keyOf } from "../../src/domain/TimerKey.ts"
import type { WriteItem } from "../../src/domain/WriteItem.ts"
import type { Fire } from "../../src/ports/Deliverer.ts"
import type { MemoryDatabase } from "../../src/stores/memory/MemoryDatabase.ts"

const prefix = "_dead."

export const tellsOfDeath = ({ timerId }: { readonly timerId: string }): boolean => timerId.startsWith(prefix)

export class DeathWatch {
  readonly #database: MemoryDatabase
  #told: Tally = emptyTally

  constructor(database: MemoryDatabase) {
    this.#database = database
  }

  /** The tally of what clients know of. */
  get tally(): Tally {
    const { tally } = this.#database
    const negated = Object.fromEntries(Object.entries(this.#told).map(([name, count]) => [name, -count]))
    return addTallies(tally, negated)
  }

  note(key: { readonly timerId: string }, tally: Partial<Tally>): void {
    if (tellsOfDeath(key)) this.#told = addTallies(this.#told, tally)
  }

  /** What is wrong with a death that was just stored. */
  whyUntold(item: WriteItem): string | undefined {
    if (item.kind !== "outcome" || item.then.to !== "dead" || item.timer.spec.onDead === undefined)
      return undefined
    const { namespace, timerId, fireId } = item.timer
    const { pending, last } = this.#database.known(keyOf(namespace, `${prefix}${fireId}`))
    return pending === undefined && last === undefined
      ? `the death of ${namespace}/${timerId} (${fireId.slice(-6)}) was stored, and nothing tells of it`
      : undefined
  }

  /** What is wrong with a call that reports a death. Dead letters that were replayed or discarded leave no trace. */
  whyUntrue({ namespace }: Fire, { timerId, fireId, revision }: Death): string | undefined {
    const lives = [{ fireId, minRevision: revision }]
    const found = this.#database.look({ key: keyOf(namespace, timerId), lives, withPayload: false })
    const isAlive = found.pending?.fireId === fireId || found.lives?.some(({ state }) => state !== "dead")
    return isAlive ? `a call told of the death of ${namespace}/${timerId}, which is not dead` : undefined
  }
}
