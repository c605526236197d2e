// Reads the answers on one connection, in any pieces, and returns their statuses. It keeps no body, because an attacker
// only counts what it got.

const headEnd = "\r\n\r\n"
const lastChunk = "0\r\n\r\n"
/** A server that sends a longer head is not one of ours. */
const headAtMost = 65_536

export class AnswerReader {
  /** The part of a head that has arrived, or the last bytes of a body in chunks. */
  #text = ""
  #status: number | undefined
  /** The bytes of the body that have not arrived; undefined for a body in chunks. */
  #leftBytes: number | undefined

  /** The statuses of the answers that these bytes complete. */
  read(bytes: Uint8Array): ReadonlyArray<number> {
    const complete: Array<number> = []
    let rest = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    for (;;) {
      const left = this.#status === undefined ? this.#readHead(rest) : this.#readBody(rest)
      if (left === undefined) return complete
      rest = left
      if (this.#status !== undefined && this.#leftBytes === 0) {
        complete.push(this.#status)
        this.#status = undefined
      }
      if (rest.length === 0) return complete
    }
  }

  /** The bytes after the head, or undefined if the head is incomplete. */
  #readHead(bytes: Buffer): Buffer | undefined {
    const before = this.#text.length
    this.#text += bytes.toString("latin1", 0, headAtMost)
    const end = this.#text.indexOf(headEnd)
    if (end < 0) {
      if (this.#text.length > headAtMost) throw new Error("the head of an answer is too long")
      return undefined
    }
    const head = this.#text.slice(0, end)
    this.#text = ""
    this.#status = Number(head.slice(9, 12))
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    this.#leftBytes =
      length === undefined && /\r\ntransfer-encoding:/i.test(head) ? undefined : Number(length ?? 0)
    return bytes.subarray(end + headEnd.length - before)
  }

  /** The bytes after the body, or undefined if the body is incomplete. */
  #readBody(bytes: Buffer): Buffer | undefined {
    if (this.#leftBytes !== undefined) {
      const taken = Math.min(this.#leftBytes, bytes.length)
      this.#leftBytes -= taken
      return this.#leftBytes === 0 ? bytes.subarray(taken) : undefined
    }
    const before = this.#text.length
    const text = this.#text + bytes.toString("latin1")
    const end = text.indexOf(lastChunk)
    if (end < 0) {
      this.#text = text.slice(-(lastChunk.length - 1))
      return undefined
    }
    this.#text = ""
    this.#leftBytes = 0
    return bytes.subarray(end + lastChunk.length - before)
  }
}
