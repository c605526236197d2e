// A service for the agent to call. It keeps the last request of each path and counts them. A path that begins with /hold
// is answered when the test says so, and one that begins with /fail is answered with 503. Answers have secret headers.
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"

export interface ReceivedRequest {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export const secretAnswerHeaders = {
  "set-cookie": "session=secret-cookie",
  "x-customer-token": "secret-token",
}

export class CalledService implements Disposable {
  readonly #server: Server
  readonly #seen = new Map<string, number>()
  readonly #received = new Map<string, ReceivedRequest>()
  readonly #held: Array<ServerResponse> = []

  private constructor() {
    this.#server = createServer((request, response) => {
      const path = request.url ?? ""
      this.#seen.set(path, this.times(path) + 1)
      const { method = "", headers } = request
      void text(request).then((body) => {
        this.#received.set(path, { method, headers, body })
        if (path.startsWith("/hold")) this.#held.push(response)
        else this.#answer(response, path.startsWith("/fail") ? 503 : 200)
      })
    })
  }

  static start(): Promise<CalledService> {
    const service = new CalledService()
    return new Promise((resolve) => service.#server.listen(0, "127.0.0.1", () => resolve(service)))
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** How many requests came to this path. */
  times(path: string): number {
    return this.#seen.get(path) ?? 0
  }

  /** The last request to this path. */
  received(path: string): ReceivedRequest | undefined {
    return this.#received.get(path)
  }

  /** How many requests are held back. */
  get holds(): number {
    return this.#held.length
  }

  /** Answers all requests that are held back. */
  release(status = 200): void {
    for (const response of this.#held.splice(0)) this.#answer(response, status)
  }

  #answer(response: ServerResponse, status: number): void {
    response.writeHead(status, secretAnswerHeaders).end("ok")
  }

  [Symbol.dispose](): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
