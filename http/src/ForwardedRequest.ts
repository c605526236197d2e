// A request that came through a trusted proxy, as the routes see it: with the address of the client instead of the
// proxy's. Connections still count for the proxy, because the proxy opens them.
import { addressGroupOf } from "@punctual/door/addressGroupOf"
import type { ForwardedClient } from "@punctual/door/TrustedProxies"
import type { HttpRequest, IncomingBody, RequestHeaders } from "./HttpRequest.ts"

export class ForwardedRequest implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: RequestHeaders
  readonly body: IncomingBody
  readonly requestId: string
  readonly remoteAddress: string
  readonly addressGroup: string
  readonly forwardedHost: string | undefined
  readonly isSecure: boolean
  readonly #request: HttpRequest

  constructor(request: HttpRequest, client: ForwardedClient) {
    this.method = request.method
    this.path = request.path
    this.query = request.query
    this.headers = request.headers
    this.body = request.body
    this.requestId = request.requestId
    this.remoteAddress = client.address
    this.addressGroup = addressGroupOf(client.address)
    this.forwardedHost = client.host
    this.isSecure = client.isSecure ?? request.isSecure
    this.#request = request
  }

  /** Made when a route asks for it, as most routes do not. */
  get signal(): AbortSignal {
    return this.#request.signal
  }
}
