// A request for a route, without a connection.
import type { HttpRequest, IncomingBody } from "../src/HttpRequest.ts"
import { requestIdHeader, requestIdOf } from "../src/requestIdOf.ts"

export interface RequestParts {
  readonly method?: string
  /** With the query. */
  readonly target: string
  /** The names are in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** The whole body, or a body that the test controls. */
  readonly body?: string | IncomingBody
  readonly addressGroup?: string
}

export const httpRequestOf = (parts: RequestParts): HttpRequest => {
  const { method = "GET", target, headers = {}, body = "", addressGroup = "127.0.0.1" } = parts
  const [path = "", query = ""] = target.split("?")
  return {
    method,
    path,
    query,
    headers: { get: (name) => headers[name] ?? null },
    body: typeof body === "string" ? wholeBody(Buffer.from(body)) : body,
    requestId: requestIdOf(headers[requestIdHeader] ?? null),
    remoteAddress: addressGroup,
    addressGroup,
    isSecure: false,
    signal: new AbortController().signal,
  }
}

const wholeBody = (arrived: Uint8Array): IncomingBody => ({
  declaredBytes: arrived.byteLength,
  arrived,
  receive: (receiver) => {
    receiver.chunk(arrived)
    receiver.end()
  },
})
