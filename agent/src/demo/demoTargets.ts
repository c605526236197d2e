// Services to call offline, for `punctual agent --demo`: one answers what it gets, one is slow, one fails, and one fails
// every second time. They listen on loopback only.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, type Scope } from "effect"

const host = "127.0.0.1"
const slowMs = 3_000
/** More of a request is not read. */
const echoedBytesMax = 64 * 1024

export interface DemoTargets {
  readonly url: string
}

/** `port`: 0 picks a free one. If the port is in use, a free one is taken, too. */
export const startDemoTargets = (
  port: number,
): Effect.Effect<DemoTargets, { readonly message: string }, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.tryPromise({
        try: () => listenOn(port).catch(() => listenOn(0)),
        catch: (error) => ({ message: `The demo's targets cannot listen on ${host}: ${String(error)}` }),
      }),
      ({ close }) => Effect.sync(close),
    ),
    ({ url }) => ({ url }),
  )

const listenOn = (port: number): Promise<{ readonly url: string; readonly close: () => void }> => {
  const answers = new DemoAnswers()
  const server = createServer((request, response) => answers.answer(request, response))
  return new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen(port, host, () => {
      const { port: taken } = server.address() as AddressInfo
      resolve({
        url: `http://${host}:${taken}`,
        close: () => {
          server.close()
          server.closeAllConnections()
        },
      })
    })
  })
}

class DemoAnswers {
  #flaky = 0

  answer(request: IncomingMessage, response: ServerResponse): void {
    const path = new URL(request.url ?? "/", "http://demo").pathname
    if (path === "/echo") this.#echo(request, response)
    else if (path === "/slow") this.#slow(response)
    else if (path === "/failing") send(response, 503, { error: "this service always fails" })
    else if (path !== "/flaky") send(response, 404, { error: "use /echo, /slow, /failing or /flaky" })
    else if (this.#flaky++ % 2 === 1) send(response, 200, { ok: true })
    else send(response, 500, { error: "this service fails every second time" })
  }

  #slow(response: ServerResponse): void {
    setTimeout(() => send(response, 200, { ok: true, afterMs: slowMs }), slowMs).unref()
  }

  #echo(request: IncomingMessage, response: ServerResponse): void {
    const parts: Array<Buffer> = []
    let bytes = 0
    request.on("data", (part: Buffer) => {
      if (bytes < echoedBytesMax) parts.push(part)
      bytes += part.length
    })
    request.on("end", () => {
      const body = Buffer.concat(parts).subarray(0, echoedBytesMax).toString("utf8")
      send(response, 200, { method: request.method, url: request.url, headers: request.headers, body })
    })
  }
}

const send = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { "content-type": "application/json" })
  response.end(JSON.stringify(body))
}
