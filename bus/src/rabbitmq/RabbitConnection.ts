// One connection to the broker, open as long as its scope. It reconnects by itself, to the hosts in turn, logs when the
// connection is lost and restored, and informs its listeners. Channels end with their connection: listeners open new
// ones. A message that was sent before a loss may or may not have arrived.
import { readFileSync } from "node:fs"
import { Effect, Latch, type Scope } from "effect"
import {
  type Channel,
  type ChannelModel,
  type ConfirmChannel,
  connect,
  type Options,
} from "../../../drivers/rabbitmq/rabbitmq.ts"
import { BusError } from "../Bus.ts"
import { isLastingRefusal, rabbitFailureText, tlsHint } from "./RabbitFailure.ts"
import type { RabbitHost } from "./rabbitUrl.ts"

export interface RabbitSettings {
  readonly hosts: ReadonlyArray<RabbitHost>
  readonly auth?: { readonly user: string; readonly password: string }
  readonly vhost: string
  /** Present if the connection must be encrypted. */
  readonly tls?: RabbitTlsFiles
  /** The name of this client at the broker. */
  readonly clientName: string
  /** The time limit for connecting at the start, over all tries. */
  readonly connectTimeoutMs: number
}

/** PEM files. */
export interface RabbitTlsFiles {
  /** The authority that signed the broker's certificate. Without it, the system's authorities are used. */
  readonly caFile?: string
  /** The certificate of this client and its private key, if the broker wants one. Both or none. */
  readonly certFile?: string
  readonly keyFile?: string
}

export interface RabbitListener {
  onLost(): void
  onRegained(): void
}

const firstPauseMs = 250
const longestPauseMs = 2_000
/** After two silent heartbeats the client closes the connection. */
const heartbeatSeconds = 10
const closeWithinMs = 2_000
/** The largest part of a message from the server. Messages consist of many parts. */
const frameBytes = 1_048_576

export class RabbitConnection {
  readonly #settings: RabbitSettings
  readonly #options: DialOptions
  readonly #listeners = new Set<RabbitListener>()
  readonly #connected = Latch.makeUnsafe(false)
  readonly #log: (effect: Effect.Effect<void>) => void
  #client: ChannelModel | undefined
  #pauseMs = firstPauseMs
  #nextHost = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false
  #isBlocked: string | undefined
  /** Why the server closed the connection, if it said so. Requests in flight fail without a reason then. */
  #closedBecause: Error | undefined

  private constructor(
    settings: RabbitSettings,
    options: DialOptions,
    log: (effect: Effect.Effect<void>) => void,
  ) {
    this.#settings = settings
    this.#options = options
    this.#log = log
  }

  /** Fails if the broker is unreachable within the time limit, or refuses the credentials or the virtual host. */
  static readonly open = Effect.fn("RabbitConnection.open")(function* (
    settings: RabbitSettings,
  ): Effect.fn.Return<RabbitConnection, BusError, Scope.Scope> {
    const options = yield* dialOptions(settings)
    const runFork = Effect.runForkWith(yield* Effect.context<never>())
    const connection = yield* Effect.acquireRelease(
      Effect.sync(() => new RabbitConnection(settings, options, (effect) => void runFork(effect))),
      (made) => made.#close,
    )
    yield* connection.#connectFirst
    return connection
  })

  get isConnected(): boolean {
    return this.#client !== undefined
  }

  get awaitConnected(): Effect.Effect<void> {
    return this.#connected.await
  }

  /** Why the broker accepts no messages now, for example because its disk is full. */
  get blockedBecause(): string | undefined {
    return this.#isBlocked
  }

  /** Adds a listener, and returns the function that removes it. */
  listen(listener: RabbitListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** The caller must handle the channel's event `close`. Errors of a channel end the channel and nothing else. */
  async channel(): Promise<Channel> {
    const channel = await this.#model.createChannel()
    channel.on("error", ignored)
    return channel
  }

  async confirmChannel(): Promise<ConfirmChannel> {
    const channel = await this.#model.createConfirmChannel()
    channel.on("error", ignored)
    return channel
  }

  /** Works with a channel of its own, because the server closes a channel when it refuses something. */
  attempt<A>(work: (channel: Channel) => Promise<A>): Effect.Effect<A, unknown> {
    return Effect.tryPromise({
      try: async () => {
        const channel = await this.channel()
        try {
          return await work(channel)
        } finally {
          await channel.close().catch(ignored)
        }
      },
      catch: (error) => this.#closedBecause ?? error,
    }).pipe(
      Effect.timeoutOrElse({
        duration: requestWithinMs,
        orElse: () => Effect.fail(new Error(`it did not answer within ${requestWithinMs} ms`)),
      }),
    )
  }

  ask<A>(what: string, work: (channel: Channel) => Promise<A>): Effect.Effect<A, BusError> {
    return Effect.mapError(this.attempt(work), (error) => this.refused(what, error))
  }

  refused(what: string, error: unknown): BusError {
    return new BusError({
      message: `RabbitMQ at ${this.hosts}, ${what}: ${rabbitFailureText(error)}.`,
      isPermanent: isLastingRefusal(error),
    })
  }

  get hosts(): string {
    return this.#settings.hosts.map(hostText).join(", ")
  }

  get #model(): ChannelModel {
    if (this.#client === undefined) throw new Error("there is no connection")
    return this.#client
  }

  get #connectFirst(): Effect.Effect<void, BusError> {
    const self = this
    const { connectTimeoutMs, hosts, tls } = this.#settings
    return Effect.gen(function* () {
      const deadline = performance.now() + connectTimeoutMs
      for (;;) {
        const tried = yield* Effect.tryPromise({ try: () => self.#dial(), catch: (error) => error }).pipe(
          Effect.result,
        )
        if (tried._tag === "Success") return
        const isPermanent = isLastingRefusal(tried.failure)
        const pauseMs = self.#nextHost % hosts.length === 0 ? self.#nextPauseMs() : 0
        if (isPermanent || performance.now() + pauseMs >= deadline) {
          const hint = tls === undefined ? "" : tlsHint(tried.failure, tls.certFile !== undefined)
          return yield* new BusError({
            message: `Cannot connect to RabbitMQ at ${self.hosts}: ${rabbitFailureText(tried.failure)}${hint}.`,
            isPermanent,
          })
        }
        yield* Effect.sleep(pauseMs)
      }
    })
  }

  async #dial(): Promise<void> {
    const { hosts } = this.#settings
    const { host, port } = hosts[this.#nextHost % hosts.length] ?? { host: "", port: 0 }
    this.#nextHost++
    const client = await connect({ ...this.#options.broker, hostname: host, port }, this.#options.socket)
    client.on("error", (error) => {
      this.#closedBecause = error
    })
    if (this.#isClosed) {
      await client.close().catch(ignored)
      return
    }
    client.on("close", (error) => this.#onLost(client, error))
    client.on("blocked", (reason) => {
      this.#isBlocked = reason
      this.#log(Effect.logWarning(`RabbitMQ accepts no messages now: ${reason}`))
    })
    client.on("unblocked", () => {
      this.#isBlocked = undefined
      this.#log(Effect.logInfo("RabbitMQ accepts messages again"))
    })
    this.#client = client
    this.#closedBecause = undefined
    this.#pauseMs = firstPauseMs
    this.#connected.openUnsafe()
  }

  #onLost(client: ChannelModel, error: Error | undefined): void {
    if (this.#client !== client) return
    this.#client = undefined
    this.#isBlocked = undefined
    this.#connected.closeUnsafe()
    if (this.#isClosed) return
    const why = error === undefined ? "" : `: ${rabbitFailureText(error)}`
    this.#log(Effect.logWarning(`the connection to RabbitMQ at ${this.hosts} is lost; reconnecting${why}`))
    for (const listener of this.#listeners) listener.onLost()
    this.#dialLater()
  }

  #dialLater(): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#dial().then(
        () => {
          if (this.#isClosed) return
          this.#log(Effect.logInfo(`connected to RabbitMQ at ${this.hosts} again`))
          for (const listener of this.#listeners) listener.onRegained()
        },
        () => this.#dialLater(),
      )
    }, this.#nextPauseMs())
  }

  #nextPauseMs(): number {
    const pauseMs = this.#pauseMs
    this.#pauseMs = Math.min(longestPauseMs, 2 * pauseMs)
    return pauseMs
  }

  get #close(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#isClosed = true
      clearTimeout(this.#timer)
      const client = this.#client
      this.#client = undefined
      if (client === undefined) return Effect.void
      return Effect.asVoid(
        Effect.timeoutOption(
          Effect.promise(() => client.close().catch(ignored)),
          closeWithinMs,
        ),
      )
    })
  }
}

const requestWithinMs = 10_000

/** The event `close` follows each error, and reports it. */
const ignored = (): void => {}

const hostText = ({ host, port }: RabbitHost): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`

interface DialOptions {
  readonly broker: Options.Connect
  readonly socket: Readonly<Record<string, unknown>>
}

const dialOptions = ({
  hosts,
  auth,
  vhost,
  tls,
  clientName,
  connectTimeoutMs,
}: RabbitSettings): Effect.Effect<DialOptions, BusError> =>
  Effect.try({
    try: () => ({
      broker: {
        protocol: tls === undefined ? "amqp" : "amqps",
        vhost,
        heartbeat: heartbeatSeconds,
        maxFrameSize: frameBytes,
        ...(auth === undefined ? {} : { username: auth.user, password: auth.password }),
      },
      socket: {
        noDelay: true,
        // The time limit of one dial, so that every host gets two dials within the whole time.
        timeout: Math.max(100, Math.ceil(connectTimeoutMs / (2 * hosts.length))),
        clientProperties: { connection_name: clientName },
        ...(tls === undefined ? {} : tlsOf(tls)),
      },
    }),
    catch: (error) =>
      new BusError({
        message: `A file with a certificate or a key for RabbitMQ cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
        isPermanent: true,
      }),
  })

const tlsOf = ({ caFile, certFile, keyFile }: RabbitTlsFiles): Readonly<Record<string, string>> => ({
  ...(caFile === undefined ? {} : { ca: readFileSync(caFile, "utf8") }),
  ...(certFile === undefined ? {} : { cert: readFileSync(certFile, "utf8") }),
  ...(keyFile === undefined ? {} : { key: readFileSync(keyFile, "utf8") }),
})
