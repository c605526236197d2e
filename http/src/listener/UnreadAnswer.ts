// What the client of one connection has not read of its answers: how much memory it keeps, and since when.
import type { ClientConnections, OpenConnection } from "./ClientConnections.ts"
import { readBytesMin } from "./ConnectionLimits.ts"
import type { OutgoingBytes } from "./OutgoingBytes.ts"

export class UnreadAnswer {
  readonly #connection: OpenConnection
  readonly #connections: ClientConnections
  #bytes = 0
  /** How many bytes had been sent when the time to read began. */
  #mark = 0

  constructor(connection: OpenConnection, connections: ClientConnections) {
    this.#connection = connection
    this.#connections = connections
  }

  /** Counts what a write has left, and watches the time of the client. Returns false if too many bytes are unread. */
  noteWrite(outgoing: OutgoingBytes): boolean {
    if (outgoing.restBytes === 0 && this.#bytes === 0) return true
    if (!this.#count(outgoing)) return false
    this.#watch(outgoing)
    return true
  }

  /** The answer waits for its turn, so the client has no time to keep. Returns false if too many bytes are unread. */
  noteWait(outgoing: OutgoingBytes): boolean {
    this.#mark = 0
    this.#connections.hasRead(this.#connection)
    return this.#count(outgoing)
  }

  release(): void {
    this.#connections.unread.giveBack(this.#connection.place.group.name, this.#bytes)
    this.#bytes = 0
  }

  #count({ keptBytes }: OutgoingBytes): boolean {
    const { name } = this.#connection.place.group
    this.#bytes = this.#connections.unread.change(name, this.#bytes, keptBytes)
    return this.#bytes === keptBytes
  }

  /** The time to read begins again when the client has read enough. */
  #watch({ restBytes, sentBytes }: OutgoingBytes): void {
    if (restBytes === 0) {
      this.#mark = 0
      this.#connections.hasRead(this.#connection)
      return
    }
    if (this.#mark > 0 && sentBytes - this.#mark < readBytesMin) return
    this.#mark = sentBytes
    this.#connections.waitsForReader(this.#connection)
  }
}
