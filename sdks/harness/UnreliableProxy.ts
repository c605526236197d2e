// A network between a client and the service that does what a test says with each request: pass it on, cut it, keep its
// answer, or pass it on twice.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/**
 * `cutBefore`: the connection breaks, and the service gets nothing. `cutAfter`: the service answers, and the answer is lost.
 * `hold`: the answer is kept until the client gives up. `duplicate`: the service gets the request twice.
 */
export const faultKinds = ["pass", "cutBefore", "cutAfter", "hold", "duplicate"] as const
export type Fault = (typeof faultKinds)[number]

export class UnreliableProxy implements AsyncDisposable {
  readonly url: string
  /** What happens to the next requests, in order. Later ones pass. */
  faults: Array<Fault> = []
  /** How many requests came from clients. */
  requests = 0
  readonly #target: string
  readonly #server

  private constructor(target: string, server: ReturnType<typeof createServer>) {
    this.#target = target
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on("request", (request, response) => void this.#handle(request, response))
  }

  static async before(target: string): Promise<UnreliableProxy> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return new UnreliableProxy(target, server)
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests++
    const fault = this.faults.shift() ?? "pass"
    const chunks: Array<Uint8Array> = []
    for await (const chunk of request) chunks.push(chunk)
    if (fault === "cutBefore") return void request.socket.destroy()
    const forward = () =>
      fetch(`${this.#target}${request.url}`, {
        method: "POST",
        headers: { "content-type": request.headers["content-type"] ?? "" },
        body: Buffer.concat(chunks),
      })
    if (fault === "duplicate") await (await forward()).arrayBuffer()
    const answer = await forward()
    const body = Buffer.from(await answer.arrayBuffer())
    if (fault === "cutAfter") return void request.socket.destroy()
    if (fault === "hold") return
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(body)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
