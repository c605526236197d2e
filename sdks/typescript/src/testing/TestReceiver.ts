/** An endpoint for timers in the process of a test. It records what it gets, and answers as the test says. */
import { createServer, type IncomingMessage, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { type ParsedEvent, parseEvent } from "../webhook/TimerEvent.ts"

/** One webhook that arrived. */
export interface Delivery extends ParsedEvent {
  readonly path: string
  /** The exact bytes of the body. */
  readonly body: Uint8Array
}

/** The answer to a webhook: a status, or a JSON value for 200. */
export type TestReply = (delivery: Delivery) => number | object | Promise<number | object>

/** A receiver that listens on this machine. Make it with `service.receiver()`. */
export class TestReceiver implements AsyncDisposable {
  /** What arrived, in order. */
  readonly deliveries: Array<Delivery> = []
  /** The URL to send timers to. */
  readonly url: string
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  }

  /** @internal */
  static async listening(reply: TestReply = () => 200): Promise<TestReceiver> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const receiver = new TestReceiver(server)
    server.on("request", (request, response) => {
      receiver.#receive(request, reply).then(
        (answer) => {
          const isStatus = typeof answer === "number"
          response.writeHead(isStatus ? answer : 200, { "content-type": "application/json" })
          response.end(isStatus ? "" : JSON.stringify(answer))
        },
        (error) => response.writeHead(500).end(String(error)),
      )
    })
    return receiver
  }

  async #receive(request: IncomingMessage, reply: TestReply): Promise<number | object> {
    const chunks: Array<Uint8Array> = []
    for await (const chunk of request) chunks.push(chunk)
    const body = new Uint8Array(Buffer.concat(chunks))
    const headers = new Headers(
      Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]),
    )
    const delivery = { ...parseEvent(headers, body), path: request.url ?? "/", body }
    this.deliveries.push(delivery)
    return await reply(delivery)
  }

  /** Closes the port and all connections. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#server.closeAllConnections()
    await closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}
