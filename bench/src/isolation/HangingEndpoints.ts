// Endpoints that accept every request and never answer. Each has a loopback address of its own, so the service sees
// different hosts.
import type { Tally } from "../Tally.ts"

/** 127.67.0.1 and the addresses after it; the attackers' own connections use other addresses. */
const addressOf = (index: number): string => {
  const host = index + 1
  if (host > 0xffff) throw new Error("there are not enough loopback addresses for so many endpoints")
  return `127.67.${host >> 8}.${host & 0xff}`
}

export class HangingEndpoints {
  readonly #tally: Tally
  #opened = 0
  #port = 0

  /** The tally counts the requests that the endpoints hold. */
  constructor(tally: Tally) {
    this.#tally = tally
  }

  /** Opens one more endpoint and returns its URL. */
  open(): string {
    const hostname = addressOf(this.#opened++)
    const server = Bun.listen<{ hasAsked: boolean }>({
      hostname,
      port: this.#port,
      socket: {
        open: (socket) => {
          socket.data = { hasAsked: false }
        },
        data: (socket) => {
          if (!socket.data.hasAsked) this.#tally.add("requests held")
          socket.data.hasAsked = true
        },
      },
    })
    this.#port = server.port
    return `http://${hostname}:${server.port}/`
  }
}
