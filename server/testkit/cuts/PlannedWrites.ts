// Random writes to a store, and what the store must contain after each of them. The same seed gives the same writes in
// every process. So one process can make them, and another one can judge what is left of them.
import type { FinishedLife, Timer } from "../../src/domain/Timer.ts"
import type { WriteItem } from "../../src/domain/WriteItem.ts"
import type { SeededRandom } from "../SeededRandom.ts"
import { cancelOf, delivered, outcomeOf, putOf, sampleNow, sampleTimer } from "../timers.ts"

/** What the answered writes have left. */
export interface PlannedState {
  /** By timer id. An id is used in one namespace only. */
  readonly pending: ReadonlyMap<string, Timer>
  /** The state of each ended life, by its fireId. */
  readonly ended: ReadonlyMap<string, FinishedLife["state"]>
  /** How many timers were replaced. These leave no ended life. */
  readonly replaced: number
}

export const plannedNamespaces = ["shop", "billing", "x"] as const

/** From then on ended timers make room for new ones. */
const mostPending = 250

export class PlannedWrites {
  readonly #random: SeededRandom
  readonly #mostItems: number
  readonly #pending = new Map<string, Timer>()
  readonly #ended = new Map<string, FinishedLife["state"]>()
  /** Timers whose keys have no pending timer any more. New ones may get the same keys. */
  readonly #free: Array<Timer> = []
  #replaced = 0
  #made = 0

  constructor(random: SeededRandom, mostItems: number) {
    this.#random = random
    this.#mostItems = mostItems
  }

  get state(): PlannedState {
    return { pending: new Map(this.#pending), ended: new Map(this.#ended), replaced: this.#replaced }
  }

  /** The items of the next write. Each is of another timer. */
  next(): ReadonlyArray<WriteItem> {
    const touched = new Set<string>()
    const items: Array<WriteItem> = []
    for (let count = 1 + this.#random.below(this.#mostItems); count > 0; count--) {
      const item = this.#item(touched)
      if (item !== undefined) items.push(item)
    }
    return items
  }

  #item(touched: Set<string>): WriteItem | undefined {
    const known = [...this.#pending.values()]
    const timer = known[this.#random.below(known.length)]
    if (timer === undefined) return this.#create(touched, undefined)
    const chance = this.#random.below(known.length < mostPending ? 8 : 6)
    if (chance > 5) return this.#create(touched, undefined)
    if (chance === 5) return this.#create(touched, this.#free[this.#random.below(this.#free.length)])
    if (touched.has(timer.timerId)) return undefined
    touched.add(timer.timerId)
    return this.#change(timer, chance)
  }

  #change(timer: Timer, chance: number): WriteItem {
    const fireAt = this.#instant()
    const { namespace, timerId } = timer
    switch (chance) {
      case 0: {
        // The store leaves a timer alone if its replacement says the same.
        const payload = new TextEncoder().encode(`replacement ${this.#made}`)
        const replacement = this.#timer({ namespace, timerId, payload })
        this.#replaced++
        this.#pending.set(timerId, replacement)
        return putOf(replacement)
      }
      case 1:
      case 2:
        this.#pending.set(timerId, { ...timer, fireAt, attempts: timer.attempts + 1 })
        return outcomeOf(timer, { to: "retry", fireAt })
      case 3:
        this.#end(timer, "cancelled")
        return cancelOf(timer, { cancelId: this.#id(), at: this.#revision() })
      default:
        if (this.#random.below(4) === 0) {
          this.#end(timer, "dead")
          return outcomeOf(timer, { to: "dead", reason: "refused" })
        }
        this.#end(timer, "delivered")
        return outcomeOf(timer, delivered)
    }
  }

  /** `before` is an ended timer whose key is used again. */
  #create(touched: Set<string>, before: Timer | undefined): WriteItem | undefined {
    if (before !== undefined && (touched.has(before.timerId) || this.#pending.has(before.timerId))) {
      return undefined
    }
    const made = this.#timer({
      namespace: before?.namespace ?? this.#random.oneOf(plannedNamespaces),
      timerId: before?.timerId ?? `t-${this.#made}`,
    })
    touched.add(made.timerId)
    this.#pending.set(made.timerId, made)
    return putOf(made)
  }

  #end(timer: Timer, state: FinishedLife["state"]): void {
    this.#pending.delete(timer.timerId)
    this.#ended.set(timer.fireId, state)
    this.#free.push(timer)
  }

  #timer(given: Pick<Timer, "namespace" | "timerId"> & Partial<Pick<Timer, "payload">>): Timer {
    const payload =
      this.#random.below(8) === 0 ? { payload: new Uint8Array(this.#random.below(6_000)).fill(7) } : {}
    return sampleTimer({
      ...payload,
      ...given,
      fireId: this.#id(),
      fireAt: this.#instant(),
      createdAt: this.#revision(),
    })
  }

  #instant(): number {
    return sampleNow + this.#random.below(1_000)
  }

  /** Later ones are greater. */
  #revision(): number {
    return sampleNow + ++this.#made
  }

  #id(): string {
    return `01976f5e-7c01-7000-8000-${(++this.#made).toString(16).padStart(12, "0")}`
  }
}
