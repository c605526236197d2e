// A request as the routes see it. The listener makes it from bytes, and tests make it from text. It is smaller than the
// web's Request: a route reads a header or the body at once, without promises, if they have arrived.
import { hostAndPort, usualPort } from "@punctual/door/hostAndPort"

export interface HttpRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** What follows the question mark, or an empty text. */
  readonly query: string
  readonly headers: RequestHeaders
  readonly body: IncomingBody
  /** The id that the client gave, or a new one. The answer has it too. */
  readonly requestId: string
  /** The address of the client. Behind a proxy that is not listed as trusted, it is the address of the proxy. */
  readonly remoteAddress: string
  /** The addresses that share limits with this one: an IPv6 address counts as its /64 network. */
  readonly addressGroup: string
  /** The host that the client asked a trusted proxy for, if the proxy says it. */
  readonly forwardedHost?: string | undefined
  /** Whether the client uses TLS, here or at a trusted proxy. */
  readonly isSecure: boolean
  /** Aborts when the client has gone, or when the service stops while a stream is being sent. */
  readonly signal: AbortSignal
}

/** The port in the address that the client used. A proxy that is not trusted must pass on the header `Host`. */
export const askedPortOf = ({ forwardedHost, headers, isSecure }: HttpRequest): number =>
  hostAndPort(forwardedHost ?? headers.get("host") ?? "")?.port ?? usualPort(isSecure)

export interface RequestHeaders {
  /** `name` is in lower case. Values of a repeated header are joined with a comma. */
  get(name: string): string | null
}

export interface IncomingBody {
  /** The declared length. A body in chunks has none. */
  readonly declaredBytes: number | undefined
  /** The whole body, if it arrived together with the head of the request. */
  readonly arrived: Uint8Array | undefined
  /** Passes the bytes on as they arrive. Bytes that have arrived are passed on at once. A body has at most one receiver. */
  receive(receiver: BodyReceiver): void
}

/** The last call is `end` or `broken`. */
export interface BodyReceiver {
  chunk(bytes: Uint8Array): void
  end(): void
  /** The connection closed before the end of the body, or the rest of the body is malformed. */
  broken(): void
}
