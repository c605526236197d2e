// A service for the agent to call. It counts requests by path, and holds back its answers until the test lets it.
import { createServer, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export class CalledService implements Disposable {
  readonly #server: Server
  readonly #seen = new Map<string, number>()
  readonly #held: Array<ServerResponse> = []

  private constructor() {
    this.#server = createServer((request, response) => {
      const path = request.url ?? ""
      this.#seen.set(path, this.times(path) + 1)
      if (path.startsWith("/hold")) this.#held.push(response)
      else response.end("ok")
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

  /** Answers all requests that are held back. */
  release(): void {
    for (const response of this.#held.splice(0)) response.end("ok")
  }

  [Symbol.dispose](): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
