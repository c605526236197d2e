/** The handler for `node:http` and for frameworks on it, such as Express. It must get requests whose body is unread. */
import { type HandlerOptions, handler } from "./handler.ts"

/** What the handler needs of a request of `node:http`. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** Whether something has read the body already. */
  readonly readableEnded?: boolean
}

/** What the handler needs of a response of `node:http`. */
export interface NodeResponse {
  writeHead(status: number, headers: Record<string, string>): unknown
  end(body: string): unknown
  on(event: "close", listener: () => void): unknown
}

/** A webhook handler of `node:http`. */
export type NodeWebhookHandler = (request: NodeRequest, response: NodeResponse) => Promise<void>

/**
 * Makes a handler for `node:http`: `createServer(nodeHandler({ secrets, handle }))`. In Express mount it before any
 * parser of bodies: `app.post("/hooks", nodeHandler({ secrets, handle }))`.
 */
export const nodeHandler = <Payload = unknown>(options: HandlerOptions<Payload>): NodeWebhookHandler => {
  const receive = handler(options)
  return async (request, response) => {
    if (request.readableEnded === true) {
      const { logger = console } = options
      logger.warn(
        "punctual: something read the body before the webhook handler: mount the handler before express.json() and the like",
      )
      response.writeHead(500, { "content-type": "text/plain" })
      response.end("the body was read before the handler")
      return
    }
    const gone = new AbortController()
    response.on("close", () => gone.abort())
    const answer = await receive(toFetch(request, gone.signal))
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    response.end(await answer.text())
  }
}

const toFetch = (request: NodeRequest, signal: AbortSignal): Request => {
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, typeof value === "string" ? value : value.join(", "))
  }
  const method = request.method ?? "POST"
  const hasBody = method !== "GET" && method !== "HEAD"
  // The URL of a Request must be absolute. Nothing reads it.
  return new Request("http://localhost/", {
    method,
    headers,
    signal,
    ...(hasBody ? { body: streamOf(request), duplex: "half" } : {}),
  } as RequestInit)
}

const streamOf = (chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> => {
  const iterator = chunks[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await iterator.return?.()
    },
  })
}
