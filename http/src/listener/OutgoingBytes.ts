// The bytes on their way to one client. Everything that is added in one turn goes out in one write. If the client does
// not read, the rest waits here, and the owner is told.
import type { Wire } from "./Wire.ts"

/** What became of a write. */
export type WriteResult = "all" | "part" | "closed"

/** A text of at least this length is encoded once, because the wire may take only a part of it. */
const longText = 16 * 1024

export class OutgoingBytes {
  readonly #wire: Wire
  #text = ""
  #textBytes = 0
  #rest: Uint8Array | undefined
  #sentBytes = 0

  constructor(wire: Wire) {
    this.#wire = wire
  }

  /** What the wire did not take. */
  get restBytes(): number {
    return this.#rest?.byteLength ?? 0
  }

  /** How many bytes of memory the rest keeps. It is a view of a buffer that may be larger. */
  get keptBytes(): number {
    return this.#rest?.buffer.byteLength ?? 0
  }

  /** Everything that waits, whether the wire has refused it or not. */
  get waitingBytes(): number {
    return this.restBytes + this.#textBytes
  }

  get isEmpty(): boolean {
    return this.#rest === undefined && this.#text === ""
  }

  /** How many bytes the wire has taken, when a part of an answer waits. */
  get sentBytes(): number {
    return this.#sentBytes
  }

  /** There is so much to send that it should not wait for more. */
  get isLarge(): boolean {
    return this.#rest !== undefined || this.#text.length >= longText
  }

  /** `bytes` is the length of the text as UTF-8. A text of ASCII has one byte for each character. */
  add(text: string, bytes = text.length): void {
    this.#text = this.#text === "" ? text : this.#text + text
    this.#textBytes += bytes
  }

  addBytes(bytes: Uint8Array): void {
    this.#rest = joined(this.#withText(), bytes)
  }

  flush(): WriteResult {
    if (this.isLarge) return this.#flushBytes()
    if (this.#text === "") return "all"
    const text = this.#text
    const bytes = this.#textBytes
    this.#text = ""
    this.#textBytes = 0
    const taken = this.#wire.write(text)
    if (taken < 0) return "closed"
    if (taken === bytes) return "all"
    this.#rest = restOf(ownBytes(text), taken)
    this.#sentBytes += taken
    return "part"
  }

  #flushBytes(): WriteResult {
    const bytes = this.#withText()
    const taken = this.#wire.write(bytes)
    if (taken < 0) return "closed"
    this.#sentBytes += taken
    this.#rest = taken === bytes.byteLength ? undefined : restOf(bytes, taken)
    return this.#rest === undefined ? "all" : "part"
  }

  /** Everything that waits. The text becomes a part of it. */
  #withText(): Uint8Array {
    const rest = this.#rest ?? nothing
    if (this.#text === "") return rest
    const text = ownBytes(this.#text)
    this.#text = ""
    this.#textBytes = 0
    return rest.byteLength === 0 ? text : joined(rest, text)
  }
}

/** What is left after `taken` bytes. It is copied when most of its buffer is sent, so that the buffer can be freed. */
const restOf = (bytes: Uint8Array, taken: number): Uint8Array => {
  const rest = bytes.subarray(taken)
  return 2 * rest.byteLength > bytes.buffer.byteLength ? rest : new Uint8Array(rest)
}

/** Unlike the runtime's buffers, the bytes never share their memory with other bytes. */
const ownBytes = (text: string): Uint8Array => encoder.encode(text)

const joined = (one: Uint8Array, other: Uint8Array): Uint8Array => {
  const both = new Uint8Array(one.byteLength + other.byteLength)
  both.set(one)
  both.set(other, one.byteLength)
  return both
}

const encoder = new TextEncoder()
const nothing = new Uint8Array(0)
