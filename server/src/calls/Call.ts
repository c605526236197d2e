// One call of the contract as data: the request, the caller, the time, and the answer. Calls do not read or write text.
// The HTTP server or the program that serves a call decodes requests and encodes answers with the schemas of the
// contract.
import type { AuditDetails } from "@punctual/api/AuditRecord"
import type { Problem } from "@punctual/api/Problem"
import type { Caller } from "@punctual/door/Caller"
import type { Effect } from "effect"

export interface Asked<Body> {
  /** The request as the schema of the contract decoded it. */
  readonly body: Body
  readonly caller: Caller
  /** When the request arrived, by the wall clock. `delay` counts from this time. */
  readonly receivedAt: number
  /**
   * The trace that the request belongs to: the span of the call if it is recorded, else what its header says. Only for
   * calls that keep it.
   */
  readonly traceparent?: string
  /** The client reached the service, or a proxy before it, over TLS. */
  readonly isSecure?: boolean
  /** The port in the address that the client used; only for calls about sessions. */
  readonly port?: number
  /** The id of the request, for logs and audit records; absent for a program that calls in its own process. */
  readonly requestId?: string
  /**
   * Takes what the call changes, for its audit record; present if the endpoint is audited. The call says what it
   * concerns before it acts, and the rest afterwards. A call that changes nothing, such as a dry run, notes nothing.
   */
  readonly note?: (details: AuditDetails) => void
}

export interface Call<Body, Answer> {
  (asked: Asked<Body>): Effect.Effect<Answer, Problem>
  /** For calls that come so often that a fiber and a schema for each would be most of their cost. */
  readonly quick?: QuickForm<Answer>
}

/** The usual form of a call. Requests of other forms go the way of all calls. */
export interface QuickForm<Answer> {
  /** Decodes a request of the usual form. `undefined` if it has another form: then the schema decodes or refuses it. */
  readonly read: (input: unknown) => object | undefined
  /**
   * Carries out a request that `read` has decoded. Calls `onAnswer` once, nearly always with an exit. False if the call
   * has to wait for something first: then nothing has happened, and the caller makes the usual call.
   */
  readonly begin: (
    asked: Asked<object>,
    onAnswer: (answer: Effect.Effect<Answer, Problem>) => void,
  ) => boolean
}

export type AnswerOf<Called> = Called extends Call<never, infer Answer> ? Answer : never

/** A value for each endpoint, by group and name. */
export interface ByEndpoint<A> {
  readonly [group: string]: { readonly [name: string]: A }
}

/**
 * A body whose payload is the UTF-8 bytes of the JSON text that was sent. The schemas of the contract accept any
 * payload, so the server replaces the payload by its bytes before it decodes the body.
 */
export type WithPayload<Body> = Omit<Body, "payload"> & { readonly payload?: Uint8Array }
