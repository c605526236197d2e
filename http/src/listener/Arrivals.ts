// New connections that wait to be served. The runtime accepts all connections that wait in the system in one turn of the
// event loop: thousands, if clients open them at the same moment. To serve one costs several times as much as to accept
// it, and with TLS its handshake takes up to a millisecond. So only a few are served in each turn. The wires of the others
// are paused until then. The addresses of clients take turns.
import { addressGroupOf } from "@punctual/door/addressGroupOf"
import { unitsPerConnection, unitsPerHandshake } from "./ConnectionLimits.ts"
import { GroupsBySize, type SizedGroup } from "./GroupsBySize.ts"
import type { PacedWire } from "./PacedWire.ts"
import type { TurnBudget } from "./TurnBudget.ts"
import type { WireEvents } from "./Wire.ts"

export interface ArrivalsOptions {
  readonly turn: TurnBudget
  /** How many wait at once. At the limit, one is closed without an answer. */
  readonly waitingMax: number
  readonly isSecure: boolean
  /** Returns nothing if the connection was refused and closed. */
  readonly serve: (wire: PacedWire, addressGroup: string) => WireEvents | undefined
}

export class Arrivals {
  readonly #options: ArrivalsOptions
  readonly #waiting = new WaitingArrivals()

  constructor(options: ArrivalsOptions) {
    this.#options = options
  }

  get waiting(): number {
    return this.#waiting.size
  }

  accept(wire: PacedWire): void {
    const { turn, waitingMax } = this.#options
    const group = addressGroupOf(wire.remoteAddress)
    if (!turn.isSpent) {
      this.#serve(wire, group)
    } else if (this.#waiting.size >= waitingMax && !this.#makeRoom(group)) {
      wire.terminate()
    } else {
      const serve = () => this.#serve(wire, group)
      wire.events = new Arrival({ wire, group, turn, waiting: this.#waiting, serve })
    }
  }

  /** Closes all that wait. */
  terminateAll(): void {
    for (let next = this.#waiting.largest; next !== undefined; next = this.#waiting.largest)
      next.last?.terminate()
  }

  /** The last one of the address that has the most makes room, so that one address cannot keep all others out. */
  #makeRoom(group: string): boolean {
    const { largest } = this.#waiting
    if (largest === undefined || largest.size <= this.#waiting.sizeOf(group) + 1) return false
    largest.last?.terminate()
    return true
  }

  #serve(wire: PacedWire, group: string): void {
    const { turn, isSecure, serve } = this.#options
    turn.spend(isSecure ? unitsPerHandshake : unitsPerConnection)
    wire.events = serve(wire, group)
  }
}

/** The connections of one address. They are linked, so that both the last one and any other can leave at once. */
interface WaitingGroup extends SizedGroup {
  size: number
  last: Arrival | undefined
}

class WaitingArrivals {
  /** No group is empty. */
  readonly #groups = new Map<string, WaitingGroup>()
  readonly #bySize = new GroupsBySize<WaitingGroup>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get largest(): WaitingGroup | undefined {
    return this.#bySize.largest
  }

  sizeOf(name: string): number {
    return this.#groups.get(name)?.size ?? 0
  }

  add(name: string, arrival: Arrival): void {
    const group = this.#groups.get(name) ?? { size: 0, slot: 0, last: undefined }
    this.#groups.set(name, group)
    arrival.before = group.last
    if (group.last !== undefined) group.last.after = arrival
    group.last = arrival
    group.size++
    this.#size++
    this.#bySize.grown(group)
  }

  delete(name: string, { before, after }: Arrival): void {
    const group = this.#groups.get(name)
    if (group === undefined) return
    if (before !== undefined) before.after = after
    if (after !== undefined) after.before = before
    else group.last = before
    group.size--
    this.#size--
    this.#bySize.shrunk(group)
    if (group.size === 0) this.#groups.delete(name)
  }
}

interface WaitingParts {
  readonly wire: PacedWire
  readonly group: string
  readonly turn: TurnBudget
  readonly waiting: WaitingArrivals
  readonly serve: () => void
}

class Arrival implements WireEvents {
  /** Its neighbours in its group. */
  before: Arrival | undefined
  after: Arrival | undefined
  readonly #parts: WaitingParts
  #isWaiting = true

  constructor(parts: WaitingParts) {
    this.#parts = parts
    const { wire, group, turn, waiting } = parts
    waiting.add(group, this)
    turn.defer(group, this.#takeTurn)
    wire.pause()
  }

  readonly #takeTurn = (): void => {
    this.#leave()
    this.#parts.serve()
    this.#parts.wire.resume()
  }

  /** Bytes reach a paused wire only if the client has gone. If they do, they must not be lost. */
  onData(bytes: Buffer): void {
    this.#takeTurn()
    this.#parts.wire.onData(bytes)
  }

  onDrain(): void {}

  onEnd(): void {
    this.#takeTurn()
    this.#parts.wire.onEnd()
  }

  onClose(): void {
    this.#leave()
  }

  terminate(): void {
    this.#leave()
    this.#parts.wire.terminate()
  }

  #leave(): void {
    if (!this.#isWaiting) return
    this.#isWaiting = false
    const { waiting, turn, group } = this.#parts
    waiting.delete(group, this)
    turn.forget(group, this.#takeTurn)
  }
}
