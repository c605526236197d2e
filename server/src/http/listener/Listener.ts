// Where HTTP meets the runtime: the only module that knows its server. It listens, hands every request
// on, and closes; what is answered is decided elsewhere.
import { lookup } from "node:dns/promises"
import { Internal } from "@punctual/api/Problem"
import { Effect, Schema, type Scope } from "effect"
import { problemResponse } from "../problemResponse.ts"

/** One sentence that says why nothing can listen there, and what to do. */
export class CannotListen extends Schema.TaggedError<CannotListen>()("CannotListen", {
  message: Schema.String,
}) {}

export interface Listening {
  readonly port: number
  readonly url: string
  /** Refuses new connections, lets requests under way be answered within the bound, then closes all. */
  close(withinMs: number): Effect.Effect<void>
}

export interface ListenOptions {
  readonly host: string
  /** 0 picks a free one. */
  readonly port: number
  readonly handle: (request: Request) => Promise<Response>
  readonly onDefect: (error: unknown) => void
}

/** Closes at once, if nobody closed it before, when the scope does. */
export const listen = (options: ListenOptions): Effect.Effect<Listening, CannotListen, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.try({ try: () => startServer(options), catch: (error) => error }).pipe(
        Effect.catch((error) => Effect.flatMap(cannotListen(options, error), Effect.fail)),
      ),
      (server) => Effect.promise(() => server.stop(true)),
    ),
    (server): Listening => ({
      port: server.port ?? options.port,
      url: urlOf(options.host, server.port ?? options.port),
      close: (withinMs) =>
        Effect.promise(() => server.stop(false)).pipe(Effect.timeoutOption(withinMs), Effect.asVoid),
    }),
  )

const startServer = (options: ListenOptions) =>
  Bun.serve({
    hostname: options.host,
    port: options.port,
    // The page that the runtime shows for a failure in development has a stack trace.
    development: false,
    // Without development mode the runtime would share a busy port instead of refusing it.
    reusePort: false,
    // Bodies are bounded where they are read, with an answer that says so.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    // In seconds, and the most there is; longer than any TIMER_BODY_TIMEOUT, which answers before it closes.
    idleTimeout: 255,
    fetch: options.handle,
    error: (error) => {
      options.onDefect(error)
      return problemResponse(
        new Internal({ detail: "An unforeseen failure: the service's log has its cause." }),
      )
    },
  })

/** Any address is reached by the loopback one, which also can be opened in a browser. */
const urlOf = (host: string, port: number): string => {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`
}

/**
 * For a name without an address the runtime reports whatever error the system saw last, be it that a port
 * is in use: so names are looked up before its code is believed.
 */
const cannotListen = ({ host, port }: ListenOptions, error: unknown): Effect.Effect<CannotListen> =>
  Effect.tryPromise(() => lookup(host)).pipe(
    Effect.timeout(lookupWithinMs),
    Effect.match({
      onFailure: () => `The host ${host} cannot be resolved to an address: ${setHost}`,
      onSuccess: () => whyNotListening(host, port, error),
    }),
    Effect.map((message) => new CannotListen({ message })),
  )

const whyNotListening = (host: string, port: number, error: unknown): string => {
  const code = error instanceof Error && "code" in error ? String(error.code) : ""
  switch (code) {
    case "EADDRINUSE":
      return `Port ${port} on ${host} is in use by another program: stop it, or set TIMER_HTTP_PORT to another port (0 picks a free one).`
    case "EACCES":
      return `Listening on ${host}:${port} is not permitted: set TIMER_HTTP_PORT to a port above 1023.`
    case "EADDRNOTAVAIL":
      return `The host ${host} is not an address of this machine: ${setHost}`
    default:
      return `Listening on ${host}:${port} failed${code === "" ? "" : ` (${code})`}: check TIMER_HTTP_HOST and TIMER_HTTP_PORT.`
  }
}

const setHost = "set TIMER_HTTP_HOST to one of this machine's, such as 127.0.0.1 or 0.0.0.0."
const lookupWithinMs = 5_000
