// Reads requests from the bytes of one connection, in whatever parts they arrive. It does no I/O, and it never reads
// beyond the end of a request before the caller asks for the next one.

import { BadRequest, malformed } from "./BadRequest.ts"
import { ChunkedBody } from "./ChunkedBody.ts"
import { smallReadBytes } from "./ReadPace.ts"
import {
  headerBytesMax,
  headersMax,
  headersTooLarge,
  type RequestHead,
  readHead,
  readRequestLine,
  requestLineBytesMax,
  targetTooLong,
} from "./RequestHead.ts"

/**
 * The next part of the input: the head of a request, bytes of its body, or the end of its body. `more` means that the
 * next part has not arrived. After a refusal nothing more can be read.
 */
export type InputPart = RequestHead | Uint8Array | "end" | "more" | BadRequest

/** How many bytes of a body in chunks are read at once, so that tiny chunks do not hold the thread. */
export const chunkedPartBytes = 64 * 1024

export class RequestReader {
  #bytes: Buffer = nothing
  #at = 0
  /** What is left of the body of the current request. */
  #body: number | ChunkedBody | undefined
  /** Up to here there is no end of a head. */
  #searchedTo = 0
  /** How many lines end before that. */
  #lineEnds = 0
  #hasSkippedLine = false
  #refusal: BadRequest | undefined

  get bufferedBytes(): number {
    return this.#bytes.length - this.#at
  }

  /** The reader owns the bytes from now on, and may overwrite them. */
  push(bytes: Buffer): void {
    this.#replace(
      this.#at === this.#bytes.length ? bytes : Buffer.concat([this.#bytes.subarray(this.#at), bytes]),
    )
  }

  /** Between two requests: the whole head of the next one is here. */
  get hasHead(): boolean {
    return this.#headEnd() >= 0
  }

  /** Frees the memory of what was read, unless it is less than the rest. Returns how many bytes the rest keeps. */
  compact(): number {
    const { bufferedBytes } = this
    if (bufferedBytes === 0) this.clear()
    else if (2 * bufferedBytes < this.#bytes.length) {
      const rest = Buffer.allocUnsafeSlow(bufferedBytes)
      this.#bytes.copy(rest, 0, this.#at)
      this.#replace(rest)
    }
    return this.#bytes.length
  }

  /** Drops what has arrived and was not read. */
  clear(): void {
    this.#bytes = nothing
    this.#at = 0
    this.#searchedTo = 0
    this.#lineEnds = 0
  }

  next(): InputPart {
    if (this.#refusal !== undefined) return this.#refusal
    const part = this.#body === undefined ? this.#nextHead() : this.#nextOfBody(this.#body)
    if (part instanceof BadRequest) this.#refuseAll(part)
    // A connection may be idle for long, and must not keep its last input.
    if (part === "more" && this.bufferedBytes === 0) this.clear()
    return part
  }

  /** After a head: the whole body, if it is there and does not come in chunks. */
  takeWhole(): Uint8Array | undefined {
    if (typeof this.#body !== "number" || this.bufferedBytes < this.#body) return undefined
    const whole = this.#bytes.subarray(this.#at, this.#at + this.#body)
    this.#at += this.#body
    this.#endRequest()
    // A small body must not keep a large read in memory until its request is answered.
    const isSmallPart = this.#bytes.length > smallReadBytes && 2 * whole.length < this.#bytes.length
    return isSmallPart ? new Uint8Array(whole) : whole
  }

  #nextHead(): RequestHead | BadRequest | "more" {
    if (this.#at === this.#bytes.length) return "more"
    const skipped = this.#skipEmptyLine()
    if (skipped !== undefined) return skipped
    const end = this.#headEnd()
    if (end < 0) return this.#whyNoHead() ?? "more"
    const head = readHead(this.#bytes.toString("latin1", this.#at, end))
    if (head instanceof BadRequest) return head
    this.#at = end + 4
    this.#body = head.bodyBytes === "chunked" ? new ChunkedBody() : head.bodyBytes
    return head
  }

  #headEnd(): number {
    return this.#bytes.indexOf(emptyLine, Math.max(this.#at, this.#searchedTo - 3))
  }

  /** Some clients send an empty line after a body. One is skipped, as RFC 9112 asks. */
  #skipEmptyLine(): BadRequest | "more" | undefined {
    if (this.#bytes[this.#at] !== CR) return undefined
    if (this.#at + 1 === this.#bytes.length) return "more"
    if (this.#bytes[this.#at + 1] !== LF || this.#hasSkippedLine) return malformed(noRequest)
    this.#hasSkippedLine = true
    this.#at += 2
    return this.#at === this.#bytes.length ? "more" : undefined
  }

  /** A head that can no longer become valid is refused at once. Otherwise the client would wait for the time-out. */
  #whyNoHead(): BadRequest | undefined {
    if (isControl(this.#bytes[this.#at] ?? 0)) return malformed(noRequest)
    let from = Math.max(this.#at, this.#searchedTo - 1)
    // A line feed that ends the part that was searched before is part of a line end.
    if (from > this.#at && this.#bytes[from] === LF) from++
    const recent = this.#bytes.toString("latin1", from)
    this.#searchedTo = this.#bytes.length
    // The last character may be the first half of a line end.
    if (/(?:^|[^\r])\n|\r[^\n]/.test(recent))
      return malformed("Lines must end with a carriage return and a line feed.")
    const refusal = this.#whyNotLines(recent.split("\r\n").length - 1)
    if (refusal !== undefined) return refusal
    const headBytes = this.bufferedBytes
    if (headBytes <= requestLineBytesMax) return undefined
    const lineBytes = this.#bytes.indexOf(lineBreak, this.#at) - this.#at
    if (lineBytes < 0 || lineBytes > requestLineBytesMax) return targetTooLong()
    // The end of the last line may have arrived.
    return headBytes - lineBytes - 2 > headerBytesMax + 3 ? headersTooLarge() : undefined
  }

  /** Checks the first line when it has ended, and the number of the headers. */
  #whyNotLines(newEnds: number): BadRequest | undefined {
    const isFirst = this.#lineEnds === 0 && newEnds > 0
    this.#lineEnds += newEnds
    if (isFirst) {
      const end = this.#bytes.indexOf(lineBreak, this.#at)
      const line = readRequestLine(this.#bytes.toString("latin1", this.#at, end))
      if (line instanceof BadRequest) return line
    }
    return this.#lineEnds - 1 > headersMax ? headersTooLarge() : undefined
  }

  #nextOfBody(body: number | ChunkedBody): Uint8Array | "end" | "more" | BadRequest {
    if (body === 0) {
      this.#endRequest()
      return "end"
    }
    if (this.#at === this.#bytes.length) return "more"
    if (typeof body === "number") {
      const part = this.#bytes.subarray(this.#at, Math.min(this.#at + body, this.#bytes.length))
      this.#at += part.length
      this.#body = body - part.length
      return part
    }
    const to = Math.min(this.#at + chunkedPartBytes, this.#bytes.length)
    const read = body.read(this.#bytes, this.#at, to)
    if (read instanceof BadRequest) return read
    this.#at += read.used
    if (read.isEnd) this.#body = 0
    if (read.data.length > 0) return read.data
    return read.isEnd || read.used > 0 ? this.#nextOfBody(this.#body ?? 0) : "more"
  }

  /** The new bytes begin with those that were not read. */
  #replace(bytes: Buffer): void {
    this.#bytes = bytes
    this.#searchedTo = Math.max(0, this.#searchedTo - this.#at)
    this.#at = 0
  }

  #endRequest(): void {
    this.#body = undefined
    this.#searchedTo = this.#at
    this.#lineEnds = 0
    this.#hasSkippedLine = false
  }

  #refuseAll(refusal: BadRequest): void {
    this.#refusal = refusal
    this.clear()
  }
}

const noRequest = "The bytes are not an HTTP request. If they are TLS, use http instead of https."

const isControl = (code: number): boolean => code <= 32 || code >= 127

const nothing = Buffer.alloc(0)
const lineBreak = Buffer.from("\r\n")
const emptyLine = Buffer.from("\r\n\r\n")
const CR = 13
const LF = 10
