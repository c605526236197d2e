// The bytes on their way to one client. Everything that is added in one turn goes out in one write. If the client does
// not read, the rest waits here, and the owner is told.
import type { Wire } from "./Wire.ts"

/** What became of a write. */
export type WriteResult = "all" | "part" | "closed"

/**
 * A text of at least this length is encoded once, because the wire may take only a part of it. Bytes of at least this length
 * are not copied to join them with others.
 */
const longBytes = 16 * 1024

export class OutgoingBytes {
  readonly #wire: Wire
  /** What waits, in order. The text comes after it. */
  readonly #parts: Array<Uint8Array> = []
  #partsBytes = 0
  #text = ""
  #textBytes = 0
  #sentBytes = 0

  constructor(wire: Wire) {
    this.#wire = wire
  }

  /** What the wire did not take. */
  get restBytes(): number {
    return this.#partsBytes
  }

  /** How many bytes of memory the rest keeps. Its parts are views of buffers that may be larger. */
  get keptBytes(): number {
    return this.#parts.reduce((sum, { buffer }) => sum + buffer.byteLength, 0)
  }

  /** Everything that waits, whether the wire has refused it or not. */
  get waitingBytes(): number {
    return this.#partsBytes + this.#textBytes
  }

  get isEmpty(): boolean {
    return this.#parts.length === 0 && this.#text === ""
  }

  /** How many bytes the wire has taken, when a part of an answer waits. */
  get sentBytes(): number {
    return this.#sentBytes
  }

  /** There is so much to send that it should not wait for more. */
  get isLarge(): boolean {
    return this.#parts.length > 0 || this.#text.length >= longBytes
  }

  /** `bytes` is the length of the text as UTF-8. A text of ASCII has one byte for each character. */
  add(text: string, bytes = text.length): void {
    this.#text = this.#text === "" ? text : this.#text + text
    this.#textBytes += bytes
  }

  /** The bytes must not change any more. */
  addBytes(bytes: Uint8Array): void {
    const text = this.#takeText()
    const isLong = bytes.byteLength >= longBytes
    if (isLong) this.#addPart(text)
    this.#addPart(isLong ? bytes : joined(text, bytes))
  }

  /** A piece of a stream, as a chunk of HTTP/1.1 or as it is. */
  addPiece(piece: string | Uint8Array, isChunked: boolean): void {
    const bytes = Buffer.byteLength(piece)
    if (bytes === 0) return
    if (isChunked) this.add(`${bytes.toString(16)}\r\n`)
    if (typeof piece === "string") this.add(piece, bytes)
    else this.addBytes(piece)
    if (isChunked) this.add("\r\n")
  }

  flush(): WriteResult {
    if (this.isLarge) return this.#flushParts()
    if (this.#text === "") return "all"
    const text = this.#text
    const bytes = this.#textBytes
    this.#text = ""
    this.#textBytes = 0
    const taken = this.#wire.write(text)
    if (taken < 0) return "closed"
    if (taken === bytes) return "all"
    this.#addPart(restOf(ownBytes(text), taken))
    this.#sentBytes += taken
    return "part"
  }

  #flushParts(): WriteResult {
    this.#addPart(this.#takeText())
    for (let part = this.#parts[0]; part !== undefined; part = this.#parts[0]) {
      const taken = this.#wire.write(part)
      if (taken < 0) return "closed"
      this.#sentBytes += taken
      this.#partsBytes -= taken
      if (taken < part.byteLength) {
        this.#parts[0] = restOf(part, taken)
        return "part"
      }
      this.#parts.shift()
    }
    return "all"
  }

  #addPart(bytes: Uint8Array): void {
    if (bytes.byteLength === 0) return
    this.#parts.push(bytes)
    this.#partsBytes += bytes.byteLength
  }

  #takeText(): Uint8Array {
    if (this.#text === "") return nothing
    const text = ownBytes(this.#text)
    this.#text = ""
    this.#textBytes = 0
    return text
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
