// The bytes on their way to one client. Texts and small bytes that are added in one turn go out in one write. If the client
// does not read, the rest waits here, and the owner is told.
import type { Wire } from "./Wire.ts"

/** What became of a write. */
export type WriteResult = "all" | "part" | "closed"

/**
 * A text of at least this length is encoded once, because the wire may take only a part of it. Bytes of at least this length
 * are not copied to join them with others.
 */
const longBytes = 16 * 1024

interface Part {
  readonly bytes: Uint8Array
  /** The buffer of the bytes was made here, and nobody else uses it. */
  readonly isOwn: boolean
}

export class OutgoingBytes {
  readonly #wire: Wire
  /** What waits, in order. The text comes after it. */
  readonly #parts: Array<Part> = []
  #partsBytes = 0
  #text = ""
  #textBytes = 0
  #sentBytes = 0

  constructor(wire: Wire) {
    this.#wire = wire
  }

  /** What waits as bytes. After a write, the wire did not take it. */
  get restBytes(): number {
    return this.#partsBytes
  }

  /** How many bytes of memory wait here. An own part is a view of a buffer that may be larger. */
  get keptBytes(): number {
    const bytesOf = ({ bytes, isOwn }: Part) => (isOwn ? bytes.buffer.byteLength : bytes.byteLength)
    return this.#parts.reduce((sum, part) => sum + bytesOf(part), this.#textBytes)
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

  /** There is so much to send that it must wait for its turn. */
  get needsTurn(): boolean {
    return this.waitingBytes >= longBytes
  }

  /** Nothing should be added before this is sent. */
  get takesNoMore(): boolean {
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
    if (bytes.byteLength < longBytes) {
      this.#addOwn(joined(text, bytes))
      return
    }
    this.#addOwn(text)
    this.#addPart({ bytes, isOwn: false })
  }

  /** A part of a stream, as a chunk of HTTP/1.1 or as it is. */
  addOfStream(part: string | Uint8Array, isChunked: boolean): void {
    const bytes = Buffer.byteLength(part)
    if (bytes === 0) return
    if (isChunked) this.add(`${bytes.toString(16)}\r\n`)
    if (typeof part === "string") this.add(part, bytes)
    else this.addBytes(part)
    if (isChunked) this.add("\r\n")
  }

  flush(): WriteResult {
    if (this.takesNoMore) return this.#flushParts()
    if (this.#text === "") return "all"
    const text = this.#text
    const bytes = this.#textBytes
    this.#text = ""
    this.#textBytes = 0
    const taken = this.#wire.write(text)
    if (taken < 0) return "closed"
    if (taken === bytes) return "all"
    this.#addOwn(restOf(ownBytes(text), taken))
    this.#sentBytes += taken
    return "part"
  }

  #flushParts(): WriteResult {
    this.#addOwn(this.#takeText())
    for (let part = this.#parts[0]; part !== undefined; part = this.#parts[0]) {
      const { bytes, isOwn } = part
      const taken = this.#wire.write(bytes)
      if (taken < 0) return "closed"
      this.#sentBytes += taken
      this.#partsBytes -= taken
      if (taken < bytes.byteLength) {
        this.#parts[0] = { bytes: isOwn ? restOf(bytes, taken) : bytes.subarray(taken), isOwn }
        return "part"
      }
      this.#parts.shift()
    }
    return "all"
  }

  #addOwn(bytes: Uint8Array): void {
    if (bytes.byteLength > 0) this.#addPart({ bytes, isOwn: true })
  }

  #addPart(part: Part): void {
    this.#parts.push(part)
    this.#partsBytes += part.bytes.byteLength
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
