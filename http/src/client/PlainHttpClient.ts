// Sends requests over plain HTTP/1.1, over connections of its own. The client of the runtime runs in another thread and
// makes several objects for each request, which costs more than all other work for a webhook. Requests over TLS still use
// the client of the runtime. The caller gives an address, never a name: nothing is looked up here. Proxies are not used.
// The caller limits the time and how many exchanges run at once.
import { type OpenSocket, openSocket } from "./openSocket.ts"
import { nameOf, PlainConnection, type PlainConnectionEvents, type PlainExchange } from "./PlainConnection.ts"

/** A free connection is closed after this time. */
const keptForMs = 15_000
const sweepEveryMs = 1_000
/** The most free connections, to one address and in total. */
const keptPerAddressMax = 64
const keptMax = 512

export class PlainHttpClient {
  /** The free connections by address and port. The one that was used last is the last. */
  readonly #kept = new Map<string, Array<PlainConnection>>()
  readonly #open: OpenSocket
  #keptCount = 0
  #sweeper: ReturnType<typeof setInterval> | undefined

  constructor(open: OpenSocket = openSocket) {
    this.#open = open
  }

  /** Exactly one of the exchange's listeners is called, never within this call. */
  send(exchange: PlainExchange): void {
    const kept = this.#take(nameOf(exchange))
    exchange.carrier = kept ?? new PlainConnection(exchange, this.#open, this.#events)
    kept?.send(exchange)
  }

  /** Ends the exchange without an answer. Nothing is called any more. */
  abandon(exchange: PlainExchange): void {
    exchange.carrier?.abandon(exchange)
  }

  /** Answers with the part of the body that has arrived, if the head is there. */
  cut(exchange: PlainExchange): void {
    exchange.carrier?.cut(exchange)
  }

  #take(name: string): PlainConnection | undefined {
    const kept = this.#kept.get(name)
    const connection = kept?.pop()
    if (connection === undefined) return undefined
    this.#keptCount--
    if (kept?.length === 0) this.#kept.delete(name)
    return connection
  }

  readonly #events: PlainConnectionEvents = {
    onIdle: (connection) => {
      const { name } = connection
      const kept = this.#kept.get(name) ?? []
      if (this.#keptCount >= keptMax || kept.length >= keptPerAddressMax) {
        connection.close()
        return
      }
      connection.usedAtMs = performance.now()
      kept.push(connection)
      if (kept.length === 1) this.#kept.set(name, kept)
      this.#keptCount++
      this.#sweeper ??= this.#beginSweeping()
    },
    onClose: (connection) => {
      const kept = this.#kept.get(connection.name)
      const place = kept?.indexOf(connection) ?? -1
      if (kept === undefined || place < 0) return
      kept.splice(place, 1)
      this.#keptCount--
      if (kept.length === 0) this.#kept.delete(connection.name)
    },
    // A new connection is never stale, so this happens at most once for an exchange.
    onStale: (exchange) => {
      exchange.carrier = new PlainConnection(exchange, this.#open, this.#events)
    },
  }

  #beginSweeping(): ReturnType<typeof setInterval> {
    const sweeper = setInterval(() => this.#sweep(performance.now() - keptForMs), sweepEveryMs)
    sweeper.unref()
    return sweeper
  }

  #sweep(usedBeforeMs: number): void {
    for (const kept of [...this.#kept.values()]) {
      for (const connection of [...kept]) if (connection.usedAtMs < usedBeforeMs) connection.close()
    }
    if (this.#keptCount > 0) return
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }
}
