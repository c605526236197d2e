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

  /** Looks at what a write has left. Returns false if clients have not read too many bytes. */
  isWithinLimit(outgoing: OutgoingBytes): boolean {
    const { restBytes, keptBytes } = outgoing
    if (restBytes === 0 && this.#bytes === 0) return true
    const { unread } = this.#connections
    this.#bytes = unread.change(this.#connection.place.group.name, this.#bytes, keptBytes)
    if (this.#bytes < keptBytes) return false
    this.#watch(outgoing)
    return true
  }

  release(): void {
    this.#connections.unread.giveBack(this.#connection.place.group.name, this.#bytes)
    this.#bytes = 0
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
