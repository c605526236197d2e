// A wire that stops reading while large bodies take too much of the thread (ReadPace.ts). The connection on top of it
// pauses and resumes as it likes: the wire reads only if both allow it.
import type { PacedReader, ReadPace } from "./ReadPace.ts"
import type { Wire, WireEvents } from "./Wire.ts"

export class PacedWire implements Wire, WireEvents, PacedReader {
  readonly remoteAddress: string
  /** Who listens. Undefined if the connection was refused and closed. */
  events: WireEvents | undefined
  readonly #wire: Wire
  readonly #pace: ReadPace
  #isPaused = false
  #isHeld = false

  constructor(wire: Wire, pace: ReadPace) {
    this.remoteAddress = wire.remoteAddress
    this.#wire = wire
    this.#pace = pace
  }

  onData(bytes: Buffer): void {
    if (!this.#isHeld && this.#pace.mustWait(this, bytes.length)) {
      this.#isHeld = true
      if (!this.#isPaused) this.#wire.pause()
    }
    this.events?.onData(bytes)
  }

  release(): void {
    this.#isHeld = false
    if (!this.#isPaused) this.#wire.resume()
  }

  pause(): void {
    this.#isPaused = true
    if (!this.#isHeld) this.#wire.pause()
  }

  resume(): void {
    this.#isPaused = false
    if (!this.#isHeld) this.#wire.resume()
  }

  onSecured(): void {
    this.events?.onSecured?.()
  }

  onDrain(): void {
    this.events?.onDrain()
  }

  onEnd(): void {
    this.events?.onEnd()
  }

  onClose(): void {
    this.#pace.leave(this)
    this.events?.onClose()
  }

  write(data: string | Uint8Array): number {
    return this.#wire.write(data)
  }

  shutdown(): void {
    this.#wire.shutdown()
  }

  end(): void {
    this.#pace.leave(this)
    this.#wire.end()
  }

  terminate(): void {
    this.#pace.leave(this)
    this.#wire.terminate()
  }
}
