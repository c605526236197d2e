// How a node called other nodes before calls were signed: it sent the cluster's secret itself. Tests use it to run such
// a node beside new ones. It stays as that release had it.
import { randomUUID } from "node:crypto"
import { Context, Effect, Layer, Result } from "effect"
import { decodeFiringReply, encodeFiringCall } from "../../src/peers/http/firingWire.ts"
import { decodeLagsReply } from "../../src/peers/http/lagsWire.ts"
import { decodeWriteReply, encodeWriteCall, wireVersion } from "../../src/peers/http/peerWire.ts"
import { type CarriedAnswer, PeerError, type PeerNode, Peers } from "../../src/ports/Peers.ts"
import { ShardLags } from "../../src/ports/ShardLags.ts"

export interface UnsignedPeersOptions {
  /** Shared by all nodes of the cluster. */
  readonly secret: string
  readonly timeoutMs: number
}

export const versionHeader = "punctual-wire"
/** The node that the call is for, percent-encoded. */
export const toHeader = "punctual-to"
export const callHeader = "punctual-call"
/** How much of an answer is read: as much as the same items may take as a call. */
const replyBytesMax = 16 * 1024 * 1024

export const UnsignedPeers = {
  layer: (options: UnsignedPeersOptions): Layer.Layer<Peers | ShardLags> =>
    Layer.syncContext(() => {
      // The runtime's fetch uses HTTP_PROXY and similar variables, but nodes talk to each other directly.
      process.env["NO_PROXY"] = "*"
      const caller = new Caller(options)
      const peers = Peers.of({
        write: (to, items) =>
          Effect.flatMap(
            caller.post(to, "write", () => encodeWriteCall(items)),
            (text): Effect.Effect<ReadonlyArray<CarriedAnswer>, PeerError> =>
              Effect.flatMap(decodeWriteReply(text, items), understood),
          ),
        firing: (to, timers) =>
          Effect.flatMap(
            caller.post(to, "firing", () => encodeFiringCall(timers)),
            (text) => understood(decodeFiringReply(text)),
          ),
        nudge: (to) => Effect.asVoid(caller.post(to, "nudge", () => "{}")),
      })
      const lags = ShardLags.of({
        of: (to) =>
          Effect.flatMap(
            caller.post(to, "lags", () => "{}"),
            (text) => understood(decodeLagsReply(text)),
          ),
      })
      return Context.make(Peers, peers).pipe(Context.add(ShardLags, lags))
    }),
} as const

/** The peer may have executed the call, but this node cannot read its answer. */
const understood = <A>(reply: Result.Result<A, string>): Effect.Effect<A, PeerError> =>
  Result.isSuccess(reply)
    ? Effect.succeed(reply.success)
    : new PeerError({ message: `its answer cannot be read: ${reply.failure}`, isUndelivered: false })

class Caller {
  readonly #options: UnsignedPeersOptions
  readonly #name = randomUUID()
  #calls = 0
  /** The calls that the caller waits for, by address. */
  readonly #open = new Map<string, Set<number>>()

  constructor(options: UnsignedPeersOptions) {
    this.#options = options
  }

  post({ node, address }: PeerNode, path: string, body: () => string): Effect.Effect<string, PeerError> {
    return Effect.acquireUseRelease(
      Effect.sync(() => this.#begin(address)),
      (number) =>
        Effect.tryPromise({
          try: (signal) =>
            this.#exchange(`${address}/internal/v1/${path}`, body(), signal, {
              [toHeader]: encodeURIComponent(node),
              [callHeader]: this.#callOf(address, number),
            }),
          catch: asPeerError,
        }),
      (number) => Effect.sync(() => this.#end(address, number)),
    ).pipe(
      Effect.timeoutOrElse({
        duration: this.#options.timeoutMs,
        orElse: () =>
          new PeerError({ message: `no answer within ${this.#options.timeoutMs} ms`, isUndelivered: false }),
      }),
    )
  }

  async #exchange(
    url: string,
    body: string,
    signal: AbortSignal,
    headers: Readonly<Record<string, string>>,
  ): Promise<string> {
    const response = await fetch(url, {
      method: "POST",
      body,
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${this.#options.secret}`,
        [versionHeader]: String(wireVersion),
        ...headers,
      },
      redirect: "manual",
      signal,
    })
    const text = await readBounded(response)
    if (response.status === 200) return text
    const refusal = refusalIn(text)
    throw new PeerError({
      message: `it answered ${response.status}${refusal === undefined ? "" : `: ${refusal}`}`,
      // Only a peer answers like this. A proxy in between may have given up on a peer that continues.
      isUndelivered: refusal !== undefined || response.status === 401 || response.status === 404,
    })
  }

  #callOf(address: string, number: number): string {
    return `${this.#name} ${number} ${Math.min(...(this.#open.get(address) ?? [number]))}`
  }

  #begin(address: string): number {
    const number = ++this.#calls
    const open = this.#open.get(address)
    if (open === undefined) this.#open.set(address, new Set([number]))
    else open.add(number)
    return number
  }

  #end(address: string, number: number): void {
    const open = this.#open.get(address)
    open?.delete(number)
    if (open?.size === 0) this.#open.delete(address)
  }
}

/** Error codes of failures before anything is sent. */
const notConnected = new Set([
  "ECONNREFUSED",
  "ConnectionRefused",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ERR_INVALID_URL",
])

const asPeerError = (error: unknown): PeerError => {
  if (error instanceof PeerError) return error
  const code = codeOf(error) ?? codeOf(error instanceof Error ? error.cause : undefined)
  return new PeerError({
    message: error instanceof Error ? error.message : String(error),
    isUndelivered: code !== undefined && notConnected.has(code),
  })
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined

const readBounded = async (response: Response): Promise<string> => {
  const chunks: Array<Uint8Array> = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > replyBytesMax) throw new Error(`its answer has more than ${replyBytesMax} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, bytes).toString("utf8")
}

/** Why the peer did nothing, if it says so. */
const refusalIn = (text: string): string | undefined => {
  try {
    const json: unknown = JSON.parse(text)
    const isRefusal = typeof json === "object" && json !== null && "refused" in json
    return isRefusal && typeof json.refused === "string" ? json.refused : undefined
  } catch {
    return undefined
  }
}
