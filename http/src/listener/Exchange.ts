// One request on a connection, from its head to its answer. It is what a route sees of the request.
import type { BodyReceiver, HttpRequest, IncomingBody, RequestHeaders } from "../HttpRequest.ts"
import { requestIdHeader, requestIdOf } from "../requestIdOf.ts"
import type { RequestHead } from "./RequestHead.ts"

export interface ExchangeParts {
  readonly head: RequestHead
  /** The whole body, if it is there. */
  readonly arrived: Uint8Array | undefined
  readonly remoteAddress: string
  readonly addressGroup: string
  readonly isSecure: boolean
  /** The route begins to receive the body. */
  readonly onReceive: () => void
}

export class Exchange implements HttpRequest, IncomingBody {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: RequestHeaders
  readonly head: RequestHead
  readonly requestId: string
  readonly arrived: Uint8Array | undefined
  readonly remoteAddress: string
  readonly addressGroup: string
  readonly isSecure: boolean
  readonly #onReceive: () => void
  #receiver: BodyReceiver | undefined
  #isComplete: boolean
  #isGone = false
  #controller: AbortController | undefined

  constructor({ head, arrived, remoteAddress, addressGroup, isSecure, onReceive }: ExchangeParts) {
    this.head = head
    this.method = head.method
    this.path = head.path
    this.query = head.query
    this.headers = head.headers
    this.requestId = requestIdOf(head.headers.get(requestIdHeader))
    this.arrived = arrived
    this.remoteAddress = remoteAddress
    this.addressGroup = addressGroup
    this.isSecure = isSecure
    this.#onReceive = onReceive
    this.#isComplete = arrived !== undefined
  }

  get body(): IncomingBody {
    return this
  }

  get declaredBytes(): number | undefined {
    return this.head.bodyBytes === "chunked" ? undefined : this.head.bodyBytes
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#isGone) this.#controller.abort()
    return this.#controller.signal
  }

  /** Whether all of the request has been read from the connection. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** Whether the next bytes of the connection belong to the body, and the route takes them. */
  get isReceiving(): boolean {
    return this.#receiver !== undefined && !this.#isComplete
  }

  receive(receiver: BodyReceiver): void {
    if (this.#receiver !== undefined) throw new Error("the body already has a receiver")
    this.#receiver = receiver
    if (this.arrived !== undefined) {
      if (this.arrived.byteLength > 0) receiver.chunk(this.arrived)
      receiver.end()
    } else if (this.#isGone) {
      receiver.broken()
    } else {
      this.#onReceive()
    }
  }

  chunk(bytes: Uint8Array): void {
    this.#receiver?.chunk(bytes)
  }

  end(): void {
    this.#isComplete = true
    this.#receiver?.end()
  }

  /** No more bytes of the body will come. */
  breakOff(): void {
    if (this.isReceiving) {
      this.#isComplete = true
      this.#receiver?.broken()
    }
  }

  /** The client has gone, or should not wait for the rest of a stream. */
  abort(): void {
    this.#isGone = true
    this.breakOff()
    this.#controller?.abort()
  }
}
