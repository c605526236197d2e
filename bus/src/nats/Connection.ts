// One connection to the broker, open as long as its scope. The client library reconnects by itself. This class bounds
// the reconnects, logs when the connection is lost and restored, and informs its listeners. A message that was sent
// before a loss may or may not have arrived, and open requests to the broker are void.
import { readFileSync } from "node:fs"
import { Effect, Latch, type Scope } from "effect"
import {
  type ConnectionOptions,
  connect,
  errors,
  type JetStreamManager,
  jetstreamManager,
  type NatsConnection,
  type Status,
} from "../../../drivers/nats/nats.ts"
import { BusError } from "../Bus.ts"
import { clientCertificateHint, failureText, isLasting } from "./BrokerFailure.ts"

export interface ConnectionSettings {
  /** Each `host:port`. */
  readonly servers: ReadonlyArray<string>
  readonly auth?: { readonly user: string; readonly password: string } | { readonly token: string }
  /** Present if the connection must be encrypted. */
  readonly tls?: TlsFiles
  /** The name of this client at the broker. */
  readonly clientName: string
  /** The time limit for connecting at the start, over all tries. */
  readonly connectTimeoutMs: number
}

/** PEM files. */
export interface TlsFiles {
  /** The authority that signed the broker's certificate. Without it, the system's authorities are used. */
  readonly caFile?: string
  /** The certificate of this client and its private key, if the broker wants one. Both or none. */
  readonly certFile?: string
  readonly keyFile?: string
}

export interface ConnectionListener {
  onLost(): void
  onRegained(): void
  /** The broker refused a publish to this subject. */
  onForbidden(subject: string, message: string): void
}

const firstPauseMs = 250
const longestPauseMs = 2_000
const pingIntervalMs = 10_000
const requestTimeoutMs = 5_000
const drainWithinMs = 2_000

export class Connection {
  readonly client: NatsConnection
  readonly manager: JetStreamManager
  readonly #servers: string
  readonly #listeners = new Set<ConnectionListener>()
  readonly #connected = Latch.makeUnsafe(true)
  readonly #log: (effect: Effect.Effect<void>) => void
  #isConnected = true

  private constructor(
    client: NatsConnection,
    manager: JetStreamManager,
    servers: string,
    log: (effect: Effect.Effect<void>) => void,
  ) {
    this.client = client
    this.manager = manager
    this.#servers = servers
    this.#log = log
  }

  /** Fails if the broker is unreachable, refuses the credentials, or has no JetStream. */
  static readonly open = Effect.fn("Connection.open")(function* (
    settings: ConnectionSettings,
  ): Effect.fn.Return<Connection, BusError, Scope.Scope> {
    const connection = yield* Effect.acquireRelease(connected(settings), (opened) => opened.#close)
    yield* connection.ask("asking for JetStream", (manager) => manager.getAccountInfo())
    return connection
  })

  /** Makes a connection that follows the client's events from now on. */
  static watching(
    client: NatsConnection,
    manager: JetStreamManager,
    servers: string,
    pauses: Pauses,
    log: (effect: Effect.Effect<void>) => void,
  ): Connection {
    const connection = new Connection(client, manager, servers, log)
    void connection.#watch(client, pauses)
    return connection
  }

  get isConnected(): boolean {
    return this.#isConnected && !this.client.isClosed()
  }

  get awaitConnected(): Effect.Effect<void> {
    return this.#connected.await
  }

  /** The largest size of one message, with its headers. */
  get maxPayloadBytes(): number {
    return this.client.info?.max_payload ?? defaultMaxPayloadBytes
  }

  /** Adds a listener, and returns the function that removes it. */
  listen(listener: ConnectionListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Sends a request to the broker. The client's own timeout bounds the wait, even if the connection is lost. */
  ask<A>(what: string, question: (manager: JetStreamManager) => Promise<A>): Effect.Effect<A, BusError> {
    return Effect.mapError(this.attempt(question), (error) => this.refused(what, error))
  }

  /** Like `ask`, for callers that inspect the original error. */
  attempt<A>(question: (manager: JetStreamManager) => Promise<A>): Effect.Effect<A, unknown> {
    return Effect.tryPromise({ try: () => question(this.manager), catch: (error) => error })
  }

  refused(what: string, error: unknown): BusError {
    return new BusError({
      message: `NATS at ${this.#servers}, ${what}: ${failureText(error)}.`,
      isPermanent: isLasting(error),
    })
  }

  /** Draining still sends the last answers, above all acknowledgements, if the broker is connected. */
  get #close(): Effect.Effect<void> {
    const drain = Effect.promise(() => this.client.drain().catch(() => {}))
    const close = Effect.promise(() => this.client.close().catch(() => {}))
    return Effect.suspend(() => (this.isConnected ? drain : Effect.void)).pipe(
      Effect.timeoutOption(drainWithinMs),
      Effect.andThen(Effect.timeoutOption(close, drainWithinMs)),
      Effect.asVoid,
    )
  }

  async #watch(client: NatsConnection, pauses: Pauses): Promise<void> {
    for await (const status of client.status()) this.#note(status, pauses)
  }

  #note(status: Status, pauses: Pauses): void {
    if (status.type === "reconnecting") pauses.lengthen()
    else if (status.type === "disconnect" && this.#isConnected) {
      this.#isConnected = false
      this.#connected.closeUnsafe()
      this.#log(Effect.logWarning(`the connection to NATS at ${status.server} is lost; reconnecting`))
      for (const listener of this.#listeners) listener.onLost()
    } else if (status.type === "reconnect") {
      pauses.reset()
      this.#isConnected = true
      this.#connected.openUnsafe()
      this.#log(Effect.logInfo(`connected to NATS at ${status.server} again`))
      for (const listener of this.#listeners) listener.onRegained()
    } else if (status.type === "error") this.#noteError(status.error)
  }

  #noteError(error: Error): void {
    if (error instanceof errors.PermissionViolationError && error.operation === "publish") {
      for (const listener of this.#listeners) listener.onForbidden(error.subject, failureText(error))
    }
    this.#log(Effect.logWarning(`NATS at ${this.#servers}: ${failureText(error)}`))
  }
}

const defaultMaxPayloadBytes = 1_048_576

/** The pauses between attempts to reconnect. Each is longer than the one before, up to a limit. */
class Pauses {
  #pauseMs = firstPauseMs

  get pauseMs(): number {
    return this.#pauseMs
  }

  lengthen(): void {
    this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2)
  }

  reset(): void {
    this.#pauseMs = firstPauseMs
  }
}

const connected = Effect.fnUntraced(function* (
  settings: ConnectionSettings,
): Effect.fn.Return<Connection, BusError> {
  const servers = settings.servers.join(", ")
  const pauses = new Pauses()
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  // A stop must not wait for a broker that is unreachable.
  const client = yield* Effect.interruptible(connectWithin(settings, servers, pauses))
  const options = { timeout: requestTimeoutMs, checkAPI: false }
  const manager = yield* Effect.promise(() => jetstreamManager(client, options))
  return Connection.watching(client, manager, servers, pauses, (effect) => void runFork(effect))
})

const connectWithin = Effect.fnUntraced(function* (
  settings: ConnectionSettings,
  servers: string,
  pauses: Pauses,
): Effect.fn.Return<NatsConnection, BusError> {
  const options = yield* optionsOf(settings, pauses)
  const deadline = performance.now() + settings.connectTimeoutMs
  for (;;) {
    const attempt = yield* Effect.tryPromise({
      try: (signal) => connectUnless(signal, options),
      catch: (error) => error,
    }).pipe(Effect.result)
    if (attempt._tag === "Success") {
      pauses.reset()
      return attempt.success
    }
    const isLast = performance.now() + pauses.pauseMs >= deadline
    const isPermanent = isLasting(attempt.failure)
    if (isLast || isPermanent) {
      const { tls } = settings
      const hint = tls === undefined ? "" : clientCertificateHint(attempt.failure, tls.certFile !== undefined)
      return yield* new BusError({
        message: `Cannot connect to NATS at ${servers}: ${failureText(attempt.failure)}${hint}.`,
        isPermanent,
      })
    }
    yield* Effect.sleep(pauses.pauseMs)
    pauses.lengthen()
  }
})

/** Nobody takes a client that connects after the interruption, so it is closed at once. */
const connectUnless = async (signal: AbortSignal, options: ConnectionOptions): Promise<NatsConnection> => {
  const client = await connect(options)
  if (signal.aborted) await client.close()
  return client
}

const optionsOf = (
  { servers, auth, tls, clientName, connectTimeoutMs }: ConnectionSettings,
  pauses: Pauses,
): Effect.Effect<ConnectionOptions, BusError> =>
  Effect.try({
    try: () => ({
      servers: [...servers],
      name: clientName,
      // The timeout of one dial, so that every server gets two dials within the whole time.
      timeout: Math.max(100, Math.ceil(connectTimeoutMs / (2 * servers.length))),
      pingInterval: pingIntervalMs,
      maxPingOut: 2,
      maxReconnectAttempts: -1,
      reconnectDelayHandler: () => pauses.pauseMs,
      // Someone may correct the credentials at the broker while we wait. Giving up would end the service's bus.
      ignoreAuthErrorAbort: true,
      noAsyncTraces: true,
      ...(auth === undefined
        ? {}
        : "token" in auth
          ? { token: auth.token }
          : { user: auth.user, pass: auth.password }),
      ...(tls === undefined ? {} : { tls: tlsOf(tls) }),
    }),
    catch: (error) =>
      new BusError({
        message: `A file with a certificate or a key for NATS cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
        isPermanent: true,
      }),
  })

const tlsOf = ({ caFile, certFile, keyFile }: TlsFiles): NonNullable<ConnectionOptions["tls"]> => ({
  ...(caFile === undefined ? {} : { ca: readFileSync(caFile, "utf8") }),
  ...(certFile === undefined ? {} : { cert: readFileSync(certFile, "utf8") }),
  ...(keyFile === undefined ? {} : { key: readFileSync(keyFile, "utf8") }),
})
