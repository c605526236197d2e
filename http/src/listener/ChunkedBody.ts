// Reads a body in chunks (RFC 9112, section 7.1) from bytes that arrive in any parts. It drops extensions and trailers
// within limits. The chunks of one part come out as one part, so that many tiny chunks cost little.
import { type BadRequest, malformed } from "./BadRequest.ts"

/** The extensions and trailers of one body together. */
export const chunkExtrasBytesMax = 16 * 1024

/** The longest line with the size of a chunk, or with a trailer. */
export const chunkLineBytesMax = 8 * 1024

export interface ChunksRead {
  /** How many bytes were used. */
  readonly used: number
  /** The data in them. It is moved together at the start of the used bytes. */
  readonly data: Uint8Array
  readonly isEnd: boolean
}

export class ChunkedBody {
  /** How much of the current chunk is still to come. */
  #chunkLeft = 0
  #state: "size" | "data" | "dataEnd" | "trailer" = "size"
  #extrasBytes = 0

  /** Reads `bytes` from `from` to `to`, and overwrites them with its data. */
  read(bytes: Uint8Array, from: number, to: number): ChunksRead | BadRequest {
    let at = from
    let written = from
    while (at < to) {
      if (this.#state === "data") {
        const end = Math.min(at + this.#chunkLeft, to)
        bytes.copyWithin(written, at, end)
        written += end - at
        this.#chunkLeft -= end - at
        at = end
        if (this.#chunkLeft === 0) this.#state = "dataEnd"
        continue
      }
      const lineEnd = lineEndIn(bytes, at, to)
      if (lineEnd === "malformed") return badChunk()
      if (lineEnd === undefined) {
        if (to - at > chunkLineBytesMax) return malformed("A line of the chunked body is too long.")
        if (this.#state === "dataEnd" && bytes[at] !== CR) return badChunk()
        break
      }
      const refusal = this.#readLine(bytes, at, lineEnd)
      if (refusal === "end")
        return { used: lineEnd + 2 - from, data: bytes.subarray(from, written), isEnd: true }
      if (refusal !== undefined) return refusal
      at = lineEnd + 2
    }
    return { used: at - from, data: bytes.subarray(from, written), isEnd: false }
  }

  #readLine(bytes: Uint8Array, at: number, lineEnd: number): BadRequest | "end" | undefined {
    if (this.#state === "dataEnd") {
      this.#state = "size"
      return lineEnd === at ? undefined : badChunk()
    }
    if (this.#state === "trailer") return this.#readTrailer(bytes, at, lineEnd)
    let size = 0
    let next = at
    for (; next < lineEnd; next++) {
      const digit = hexValue(bytes[next] ?? 0)
      if (digit < 0) break
      size = size * 16 + digit
      if (next - at >= sizeDigitsMax) return malformed("The size of a chunk is too large.")
    }
    if (next === at) return badChunk()
    this.#extrasBytes += lineEnd - next
    if (next < lineEnd && !isExtension(bytes, next, lineEnd)) return badChunk()
    if (this.#extrasBytes > chunkExtrasBytesMax) return tooMuch()
    this.#chunkLeft = size
    this.#state = size === 0 ? "trailer" : "data"
    return undefined
  }

  #readTrailer(bytes: Uint8Array, at: number, lineEnd: number): BadRequest | "end" | undefined {
    if (lineEnd === at) return "end"
    this.#extrasBytes += lineEnd - at
    if (this.#extrasBytes > chunkExtrasBytesMax) return tooMuch()
    const text = Buffer.from(bytes.subarray(at, lineEnd)).toString("latin1")
    return trailerLine.test(text) ? undefined : malformed("A trailer of the chunked body is malformed.")
  }
}

const badChunk = (): BadRequest => malformed("The chunked body is malformed.")

const tooMuch = (): BadRequest =>
  malformed(`The chunked body has more than ${chunkExtrasBytesMax} bytes of extensions and trailers.`)

/** Where the next line ends, if all of it is there. A line feed or carriage return alone is malformed. */
const lineEndIn = (bytes: Uint8Array, from: number, to: number): number | "malformed" | undefined => {
  for (let at = from; at < to; at++) {
    if (bytes[at] === LF) return "malformed"
    if (bytes[at] !== CR) continue
    if (at + 1 === to) return undefined
    return bytes[at + 1] === LF ? at : "malformed"
  }
  return undefined
}

/** Begins with a semicolon, after blanks, and contains no control character. */
const isExtension = (bytes: Uint8Array, from: number, to: number): boolean =>
  extensionText.test(Buffer.from(bytes.subarray(from, to)).toString("latin1"))

const hexValue = (code: number): number => {
  if (code >= 48 && code <= 57) return code - 48
  const lower = code | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}

const CR = 13
const LF = 10
/** A chunk of at most 4 GiB. */
const sizeDigitsMax = 8
const extensionText = /^[\t ]*;[\t\u0020-\u007e\u0080-\u00ff]*$/
const trailerLine = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\u0020-\u007e\u0080-\u00ff]*$/
