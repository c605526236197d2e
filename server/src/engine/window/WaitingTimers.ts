// The timers of a window that wait for their time, in due order. Timers of known namespaces have a heap of their own.
// Otherwise a caller could make tens of thousands of namespaces with a timer that is due at one instant, and the timers of
// all others that are due shortly after it would leave the window only after them. A namespace is known if an endpoint of
// it has taken an attempt (HostStandings.ts). A timer is judged when it begins to wait.
import { compareDue } from "../../domain/DueOrder.ts"
import { DueHeap } from "./DueHeap.ts"
import type { Entry } from "./Entry.ts"

export class WaitingTimers {
  readonly #known = new DueHeap<Entry>()
  readonly #new = new DueHeap<Entry>()
  readonly #isKnown: (namespace: string) => boolean

  constructor(isKnown: (namespace: string) => boolean) {
    this.#isKnown = isKnown
  }

  push(entry: Entry): void {
    entry.isOfNew = !this.#isKnown(entry.timer.namespace)
    if (entry.isOfNew) this.#new.push(entry)
    else this.#known.push(entry)
  }

  remove(entry: Entry): void {
    if (entry.isOfNew) this.#new.remove(entry)
    else this.#known.remove(entry)
  }

  /** The earliest of all. */
  peek(): Entry | undefined {
    const [known, other] = [this.#known.peek(), this.#new.peek()]
    if (known === undefined || other === undefined) return known ?? other
    return compareDue(known, other) < 0 ? known : other
  }

  /** The earliest of all, if it is due. */
  nextDue(nowMs: number): Entry | undefined {
    const next = this.peek()
    return next !== undefined && next.fireAt <= nowMs ? next : undefined
  }

  /** Takes out due timers: at most `knownMax` of known namespaces, and then at most `newMax` of new ones. */
  *takeDue(nowMs: number, knownMax: number, newMax: number): Generator<Entry> {
    yield* dueOf(this.#known, nowMs, knownMax)
    yield* dueOf(this.#new, nowMs, newMax)
  }

  /** In no particular order. */
  *values(): Generator<Entry> {
    yield* this.#known.values()
    yield* this.#new.values()
  }
}

function* dueOf(heap: DueHeap<Entry>, nowMs: number, max: number): Generator<Entry> {
  for (let taken = 0; taken < max; taken++) {
    const entry = heap.peek()
    if (entry === undefined || entry.fireAt > nowMs) return
    heap.remove(entry)
    yield entry
  }
}
