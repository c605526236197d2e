// The only module that knows the HTTP server of the runtime. It listens, passes every request on, and closes. Other
// modules decide about the answers.
import { lookup } from "node:dns/promises"
import { Internal } from "@punctual/api/Problem"
import { Effect, Schema, type Scope } from "effect"
import { problemResponse } from "../problemResponse.ts"

/** The message says why the service cannot listen there, and what to do. */
export class CannotListen extends Schema.TaggedError<CannotListen>()("CannotListen", {
  message: Schema.String,
}) {}

export interface Listening {
  readonly port: number
  readonly url: string
  /** Refuses new connections, waits at most `withinMs` for running requests, then closes all connections. */
  close(withinMs: number): Effect.Effect<void>
}

export interface ListenOptions {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  readonly handle: (request: Request) => Promise<Response>
  readonly onDefect: (error: unknown) => void
}

/** Closes at once when the scope closes, unless it is already closed. */
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
    // In development mode the runtime answers failures with a page that has a stack trace.
    development: false,
    // Without development mode the runtime would share a busy port instead of refusing it.
    reusePort: false,
    // RequestBody.ts limits bodies, with a clear answer.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    // In seconds, and the largest possible value. TIMER_BODY_TIMEOUT is always shorter and answers before it closes.
    idleTimeout: 255,
    fetch: options.handle,
    error: (error) => {
      options.onDefect(error)
      return problemResponse(
        new Internal({ detail: "An unexpected error. The log of the service has the cause." }),
      )
    },
  })

/** A server on all addresses is also reachable on loopback, and a browser can open that address. */
const urlOf = (host: string, port: number): string => {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`
}

/**
 * For a host name without an address the runtime reports the last error of the system, for example that a port is in
 * use. So this looks up the name before it trusts the error code.
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

const setHost = "set TIMER_HTTP_HOST to an address of this machine, such as 127.0.0.1 or 0.0.0.0."
const lookupWithinMs = 5_000
