// Runs lookups within limits: so many at once for a namespace, and so many in all. Namespaces take turns. A lookup keeps
// its place until it ends, even if nobody waits for it any more.

export interface LookupLimits {
  readonly maxPerNamespace: number
  readonly maxLookups: number
}

interface Turn {
  running: number
  readonly waiting: Set<() => void>
}

export interface QueuedLookup<A> {
  readonly promise: Promise<A>
  /** Gives up the place in the queue. A lookup that runs is not affected. */
  readonly leave: () => void
}

export class Lookups {
  readonly #limits: LookupLimits
  /** Namespaces with lookups that run or wait. */
  readonly #turns = new Map<string, Turn>()
  /** Namespaces that wait only for room among all lookups, in the order of their turns. */
  readonly #ready = new Set<Turn>()
  #running = 0

  constructor(limits: LookupLimits) {
    this.#limits = limits
  }

  get running(): number {
    return this.#running
  }

  /** Whether a lookup of the namespace would start at once. */
  hasRoom(namespace: string): boolean {
    const running = this.#turns.get(namespace)?.running ?? 0
    return running < this.#limits.maxPerNamespace && this.#running < this.#limits.maxLookups
  }

  /** Starts the lookup now, or when there is room. */
  run<A>(namespace: string, lookup: () => Promise<A>): QueuedLookup<A> {
    const turn = this.#turnOf(namespace)
    const { promise, resolve, reject } = Promise.withResolvers<A>()
    const start = () => {
      turn.running++
      this.#running++
      startNow(lookup)
        .finally(() => {
          turn.running--
          this.#running--
          this.#noteReady(turn)
          this.#startReady()
          this.#tidy(namespace, turn)
        })
        .then(resolve, reject)
    }
    turn.waiting.add(start)
    this.#noteReady(turn)
    this.#startReady()
    const leave = () => {
      if (!turn.waiting.delete(start)) return
      if (turn.waiting.size === 0) this.#ready.delete(turn)
      this.#tidy(namespace, turn)
    }
    return { promise, leave }
  }

  /** How many lookups wait for room. */
  get waiting(): number {
    let count = 0
    for (const turn of this.#turns.values()) count += turn.waiting.size
    return count
  }

  #tidy(namespace: string, turn: Turn): void {
    if (turn.running === 0 && turn.waiting.size === 0 && this.#turns.get(namespace) === turn) {
      this.#turns.delete(namespace)
    }
  }

  #turnOf(namespace: string): Turn {
    let turn = this.#turns.get(namespace)
    if (turn === undefined) {
      turn = { running: 0, waiting: new Set() }
      this.#turns.set(namespace, turn)
    }
    return turn
  }

  #noteReady(turn: Turn): void {
    if (turn.waiting.size > 0 && turn.running < this.#limits.maxPerNamespace) this.#ready.add(turn)
  }

  /** One lookup of each namespace in turn. A namespace that started one goes to the end. */
  #startReady(): void {
    for (const turn of this.#ready) {
      if (this.#running >= this.#limits.maxLookups) return
      this.#ready.delete(turn)
      const [start] = turn.waiting
      if (start === undefined) continue
      turn.waiting.delete(start)
      start()
      this.#noteReady(turn)
    }
  }
}

/** A lookup that throws at once has failed like any other. */
const startNow = async <A>(lookup: () => Promise<A>): Promise<A> => await lookup()
