// Reads one answer from the bytes of a connection, in whatever pieces they arrive. It does no I/O. It keeps at most the
// part of the body that its caller wants.
import { BadRequest } from "../listener/BadRequest.ts"
import { ChunkedBody } from "../listener/ChunkedBody.ts"
import { type AnswerHead, headBytesMax, readAnswerHead } from "./AnswerHead.ts"

/**
 * - head: the head is there. Its `head` can be read, and `keep` must be called.
 * - more: nothing new is complete.
 * - full: as much as is kept of the body is there, but the body goes on.
 * - end: the answer is complete.
 * - malformed: nothing more can be read.
 */
export type AnswerProgress = "head" | "more" | "full" | "end" | "malformed"

/** Answers like `100 Continue` come before the answer itself. No honest receiver sends many of them. */
const informationalMax = 8
const switchingProtocols = 101
/** How much of a chunked body is read at once. */
const chunkedBytesAtOnce = 64 * 1024
/**
 * The sizes and line ends of all chunks may have this many bytes more than the data. A body with more of them consists of
 * tiny chunks, which only make work.
 */
const framingBytesMax = 16 * 1024

/** A view of less than this part of its bytes is copied. */
const smallViewShare = 4

const nothing = Buffer.alloc(0)

/** Nearly all answers of a receiver have the same head as the one before. */
let lastText = ""
let lastHead: AnswerHead | undefined

const headOf = (text: string): AnswerHead | undefined => {
  if (text !== lastText) {
    lastHead = readAnswerHead(text)
    lastText = text
  }
  return lastHead
}

export class AnswerReader {
  head: AnswerHead | undefined
  #bytes: Buffer = nothing
  #at = 0
  #searchedTo = 0
  #informational = 0
  /** What is left of the body. */
  #left: number | ChunkedBody = 0
  #kept: Array<Uint8Array> | undefined
  #keptBytes = 0
  #keepBytesMax = 0
  #droppedBytes = 0
  #framingBytes = 0

  /** Another answer follows. */
  reset(): void {
    this.head = undefined
    this.#bytes = nothing
    this.#at = 0
    this.#searchedTo = 0
    this.#informational = 0
    this.#left = 0
    this.#kept = undefined
    this.#keptBytes = 0
    this.#keepBytesMax = 0
    this.#droppedBytes = 0
    this.#framingBytes = 0
  }

  /** Nothing has arrived. */
  get isUntouched(): boolean {
    return this.head === undefined && this.#informational === 0 && this.#bytes.length === 0
  }

  /** Bytes that have arrived and do not belong to the answer so far. */
  get restBytes(): number {
    return this.#bytes.length - this.#at
  }

  /** How many bytes of the body were not kept. */
  get droppedBytes(): number {
    return this.#droppedBytes
  }

  /** The reader owns the bytes from now on, and may overwrite them. */
  push(bytes: Buffer): void {
    this.#bytes = this.restBytes === 0 ? bytes : Buffer.concat([this.#bytes.subarray(this.#at), bytes])
    this.#searchedTo = Math.max(0, this.#searchedTo - this.#at)
    this.#at = 0
  }

  /** How much of the body is kept. The rest is dropped. */
  keep(bytesMax: number): void {
    this.#keepBytesMax = bytesMax
  }

  /** The part of the body that is kept. */
  get kept(): Uint8Array {
    const pieces = this.#kept
    if (pieces === undefined) return nothing
    return pieces.length === 1 ? (pieces[0] ?? nothing) : Buffer.concat(pieces)
  }

  next(): AnswerProgress {
    return this.head === undefined ? this.#nextHead() : this.#nextOfBody(this.head)
  }

  /** The connection has closed. Whether the answer was complete. */
  closed(): boolean {
    return this.head?.bodyBytes === "untilClose"
  }

  #nextHead(): AnswerProgress {
    for (;;) {
      const end = this.#bytes.indexOf("\r\n\r\n", this.#searchedTo)
      if (end < 0) {
        this.#searchedTo = Math.max(this.#at, this.#bytes.length - 3)
        return this.restBytes > headBytesMax ? "malformed" : "more"
      }
      if (end - this.#at > headBytesMax) return "malformed"
      const head = headOf(this.#bytes.toString("latin1", this.#at, end))
      if (head === undefined || head.status === switchingProtocols) return "malformed"
      this.#at = end + 4
      this.#searchedTo = this.#at
      if (head.status >= 200) {
        this.head = head
        this.#left =
          head.bodyBytes === "chunked"
            ? new ChunkedBody()
            : typeof head.bodyBytes === "number"
              ? head.bodyBytes
              : 0
        return "head"
      }
      if (++this.#informational > informationalMax) return "malformed"
    }
  }

  #nextOfBody({ bodyBytes }: AnswerHead): AnswerProgress {
    if (bodyBytes === "untilClose") {
      this.#take(this.#bytes.subarray(this.#at))
      this.#at = this.#bytes.length
      return this.#isFull ? "full" : "more"
    }
    if (typeof this.#left === "number") {
      const end = Math.min(this.#bytes.length, this.#at + this.#left)
      this.#left -= end - this.#at
      if (end > this.#at) this.#take(this.#bytes.subarray(this.#at, end))
      this.#at = end
      if (this.#left === 0) return "end"
      return this.#isFull ? "full" : "more"
    }
    return this.#nextOfChunks(this.#left)
  }

  #nextOfChunks(chunks: ChunkedBody): AnswerProgress {
    for (;;) {
      const end = Math.min(this.#bytes.length, this.#at + chunkedBytesAtOnce)
      const read = chunks.read(this.#bytes, this.#at, end)
      if (read instanceof BadRequest) return "malformed"
      this.#take(read.data)
      this.#at += read.used
      this.#framingBytes += read.used - read.data.length
      if (this.#framingBytes > framingBytesMax + this.#keptBytes + this.#droppedBytes) return "malformed"
      if (read.isEnd) return "end"
      if (this.#isFull) return "full"
      // If nothing was used, a line is not complete.
      if (this.#at === this.#bytes.length || read.used === 0) return "more"
    }
  }

  get #isFull(): boolean {
    return this.#droppedBytes > 0
  }

  #take(piece: Uint8Array): void {
    const kept = Math.min(piece.length, this.#keepBytesMax - this.#keptBytes)
    if (kept > 0) {
      this.#kept ??= []
      // A small view would keep all received bytes in memory.
      const isSmallView = kept * smallViewShare < this.#bytes.length
      this.#kept.push(isSmallView ? new Uint8Array(piece.subarray(0, kept)) : piece.subarray(0, kept))
    }
    this.#keptBytes += kept
    this.#droppedBytes += piece.length - kept
  }
}
