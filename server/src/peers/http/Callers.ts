// Which calls of other nodes have arrived. A call that was given up may wait in a socket and arrive after newer ones,
// and somebody on the network may send a call a second time. Neither may be carried out. Each call has its caller's
// name, its number, and the lowest number that the caller still waits for. Numbers below the highest such number are
// refused, and the numbers above it that have arrived are remembered.
//
// The memory is bounded. It never forgets a number while a repeat of it could still be accepted: it refuses calls
// instead.

export interface CallersOptions {
  /** The number of callers. Each process of a node is one. */
  readonly callersMax: number
  /** The numbers that are remembered for one caller. */
  readonly numbersMax: number
  /** A signature that is older is not valid any more, so its call needs no memory. */
  readonly validForMs: number
}

export const defaultCallersOptions = { callersMax: 1_000, numbersMax: 4_096 }

export type CallVerdict = "new" | "malformed" | "givenUp" | "repeated" | "tooManyCallers"

interface Known {
  /** Calls below it have been given up. */
  lowest: number
  latestMs: number
  /** The numbers from `lowest` on that have arrived. */
  readonly numbers: Set<number>
}

export class Callers {
  readonly #options: CallersOptions
  /** The callers that called most recently are last. */
  readonly #known = new Map<string, Known>()

  constructor(options: CallersOptions) {
    this.#options = options
  }

  /** Notes the call, unless it is refused. `madeAtMs` says when the caller made it. */
  note(header: string, madeAtMs: number, nowMs: number): CallVerdict {
    const [, name, number, lowest] = /^([\w-]{1,64}) (\d{1,15}) (\d{1,15})$/.exec(header) ?? []
    if (name === undefined) return "malformed"
    const known = this.#known.get(name) ?? { lowest: 0, latestMs: madeAtMs, numbers: new Set<number>() }
    if (!this.#known.has(name) && !this.#hasRoom(nowMs)) return "tooManyCallers"
    this.#known.delete(name)
    this.#known.set(name, known)
    known.latestMs = Math.max(known.latestMs, madeAtMs)
    const { lowest: before } = known
    known.lowest = Math.max(before, Number(lowest))
    if (Number(number) < before) return "givenUp"
    if (known.numbers.has(Number(number))) return "repeated"
    known.numbers.add(Number(number))
    if (known.numbers.size > this.#options.numbersMax) this.#forgetLowest(known)
    return "new"
  }

  /** Makes room for one more caller, if the longest silent one can be forgotten. */
  #hasRoom(nowMs: number): boolean {
    if (this.#known.size < this.#options.callersMax) return true
    const [oldest] = this.#known
    if (oldest === undefined || oldest[1].latestMs + this.#options.validForMs >= nowMs) return false
    this.#known.delete(oldest[0])
    return true
  }

  /** Forgets what needs no memory. If that is not half of it, the lowest numbers count as given up. */
  #forgetLowest(known: Known): void {
    const kept = [...known.numbers].filter((number) => number >= known.lowest).sort((a, b) => a - b)
    const latest = kept.slice(-Math.floor(this.#options.numbersMax / 2))
    if (latest.length < kept.length) known.lowest = latest[0] ?? known.lowest
    known.numbers.clear()
    for (const number of latest) known.numbers.add(number)
  }
}
