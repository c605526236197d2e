// Listens for HTTP/1.1, passes every request on, and closes. Other modules decide about the answers. The server is our
// own, because the runtime's server closes a connection without an answer when a second request arrives before the first
// is answered, and it limits neither connections nor slow clients (ADR 0053).
import { lookup } from "node:dns/promises"
import { Effect, Schema, type Scope } from "effect"
import type { HttpAnswer } from "../HttpAnswer.ts"
import { connectionMetrics } from "../HttpMetrics.ts"
import type { HttpRequest } from "../HttpRequest.ts"
import { systemPaceClock } from "../PaceClock.ts"
import { settingName } from "../settingName.ts"
import { Arrivals } from "./Arrivals.ts"
import { ClientConnection } from "./ClientConnection.ts"
import { ClientConnections } from "./ClientConnections.ts"
import {
  type ConnectionLimits,
  defaultConnectionLimits,
  readBurstBytes,
  readBytesPerSecond,
} from "./ConnectionLimits.ts"
import { collectSoon } from "./collectSoon.ts"
import { connectionsWithin, openFilesMax } from "./openFilesMax.ts"
import { PacedWire } from "./PacedWire.ts"
import { ReadPace } from "./ReadPace.ts"
import { RefusedConnections } from "./RefusedConnections.ts"
import { type ServerCertificate, startTcpServer } from "./TcpServer.ts"

/** The message says why the service cannot listen there, and what to do. */
export class CannotListen extends Schema.TaggedError<CannotListen>()("CannotListen", {
  message: Schema.String,
}) {}

export interface Listening {
  readonly port: number
  readonly url: string
  /** Lower than asked for if the system does not allow the process as many open files. */
  readonly connectionsMax: number
  /** New connections use this certificate, and open ones keep theirs. Throws if the runtime refuses it. */
  useCertificate(certificate: ServerCertificate): void
  /** Asks the runtime to look for memory that requests no longer use. It does so beside the thread. */
  freeMemory(): void
  /** Refuses new connections, waits at most `withinMs` for running requests, then closes all connections. */
  close(withinMs: number): Effect.Effect<void>
}

export interface ListenOptions {
  /** For the names of metrics, and of settings in errors and refusals. */
  readonly namePrefix: string
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  readonly handle: (request: HttpRequest) => Promise<HttpAnswer>
  readonly onDefect: (error: unknown) => void
  readonly limits?: Partial<ConnectionLimits>
  /** With a certificate, the listener speaks only TLS. */
  readonly certificate?: ServerCertificate
}

/** How often times are checked. */
const sweepEveryMs = 250

/** Closes at once when the scope closes, unless it is already closed. */
export const listen = (options: ListenOptions): Effect.Effect<Listening, CannotListen, Scope.Scope> =>
  Effect.gen(function* () {
    const metrics = connectionMetrics(options.namePrefix, yield* Effect.context<never>())
    const asked = { ...defaultConnectionLimits, ...options.limits }
    const limits = { ...asked, connectionsMax: connectionsWithin(asked.connectionsMax, openFilesMax()) }
    const connections = new ClientConnections(limits, metrics, performance.now())
    const server = yield* Effect.acquireRelease(
      Effect.try({ try: () => startServer(options, connections), catch: (error) => error }).pipe(
        Effect.catch((error) => Effect.flatMap(cannotListen(options, error), Effect.fail)),
      ),
      ({ close }) => Effect.sync(close),
    )
    return {
      port: server.port,
      url: urlOf(options, server.port),
      connectionsMax: limits.connectionsMax,
      useCertificate: server.useCertificate,
      freeMemory: collectSoon,
      close: (withinMs) =>
        Effect.sync(server.stop).pipe(
          Effect.andThen(Effect.promise(() => connections.drain())),
          Effect.timeoutOption(withinMs),
          Effect.andThen(Effect.sync(server.close)),
        ),
    }
  })

const startServer = (options: ListenOptions, connections: ClientConnections) => {
  const { handle, onDefect, certificate } = options
  const refused = new RefusedConnections(connections.limits, options.namePrefix, performance.now())
  const shared = { connections, handle, onDefect, isSecure: certificate !== undefined }
  const pace = new ReadPace({
    bytesPerSecond: readBytesPerSecond,
    burstBytes: readBurstBytes,
    ...systemPaceClock,
  })
  const arrivals = new Arrivals({
    turn: connections.arrivalTurn,
    waitingMax: connections.limits.arrivingMax,
    isSecure: shared.isSecure,
    serve: (wire, group) => {
      const reason = connections.whyRefused(group)
      return reason === undefined ? new ClientConnection(wire, group, shared) : refused.refuse(wire, reason)
    },
  })
  const server = startTcpServer({
    host: options.host,
    port: options.port,
    ...(certificate === undefined ? {} : { certificate }),
    onDefect,
    accept: (socket) => {
      const wire = new PacedWire(socket, pace)
      arrivals.accept(wire)
      return wire
    },
  })
  const sweep = () => {
    const nowMs = performance.now()
    refused.sweep(nowMs)
    // What one sweep leaves is done soon, after other work.
    if (connections.sweep(nowMs)) setImmediate(sweep)
  }
  const sweeping = setInterval(sweep, sweepEveryMs)
  sweeping.unref()
  return {
    port: server.port,
    useCertificate: server.useCertificate,
    stop: () => {
      server.stop()
      arrivals.terminateAll()
    },
    close: () => {
      clearInterval(sweeping)
      server.stop()
      arrivals.terminateAll()
      connections.terminateAll()
      refused.terminateAll()
    },
  }
}

/** A server on all addresses is also reachable on loopback, and a browser can open that address. */
const urlOf = ({ host, certificate }: ListenOptions, port: number): string => {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host
  const scheme = certificate === undefined ? "http" : "https"
  return `${scheme}://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`
}

/**
 * For a host name without an address the runtime reports the last error of the system, for example that a port is in
 * use. So this looks up the name before it trusts the error code.
 */
const cannotListen = (options: ListenOptions, error: unknown): Effect.Effect<CannotListen> =>
  Effect.tryPromise(() => lookup(options.host)).pipe(
    Effect.timeout(lookupWithinMs),
    Effect.match({
      onFailure: () => `The host ${options.host} cannot be resolved to an address: ${setHost(options)}`,
      onSuccess: () => whyNotListening(options, error),
    }),
    Effect.map((message) => new CannotListen({ message })),
  )

const whyNotListening = (options: ListenOptions, error: unknown): string => {
  const { host, port, namePrefix } = options
  const portSetting = settingName(namePrefix, "HTTP_PORT")
  const code = error instanceof Error && "code" in error ? String(error.code) : ""
  switch (code) {
    case "EADDRINUSE":
      return `Port ${port} on ${host} is in use by another program: stop it, or set ${portSetting} to another port (0 picks a free one).`
    case "EACCES":
      return `Listening on ${host}:${port} is not permitted: set ${portSetting} to a port above 1023.`
    case "EADDRNOTAVAIL":
      return `The host ${host} is not an address of this machine: ${setHost(options)}`
    default:
      return `Listening on ${host}:${port} failed${code === "" ? "" : ` (${code})`}: check ${settingName(namePrefix, "HTTP_HOST")} and ${portSetting}.`
  }
}

const setHost = ({ namePrefix }: ListenOptions): string =>
  `set ${settingName(namePrefix, "HTTP_HOST")} to an address of this machine, such as 127.0.0.1 or 0.0.0.0.`

const lookupWithinMs = 5_000
