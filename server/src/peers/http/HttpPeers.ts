// Calls other nodes over HTTP: one POST for each request, signed with the cluster's secret. The important distinction
// is between a call that certainly did nothing (no connection, or the peer says that it refused) and one that may have
// been executed.
//
// A call that was given up may still wait in a socket and be read later, after newer calls. So each call contains its
// number and the lowest number that the caller still waits for, and a peer refuses calls that their caller has given
// up. An address may belong to another node by now, perhaps of another cluster with the same secret. So each call names
// the node that it is for.
//
// A node of an earlier release does not check signatures. It gets the secret itself in addition. Its entry among the
// members says that it needs it, so an answer from the network cannot make this node send the secret.
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { nextUrgentTurn } from "@punctual/api/nextTurn"
import { Context, Effect, Layer, Result } from "effect"
import { itemBytes } from "../../domain/WriteItem.ts"
import { CensusCounts } from "../../ports/CensusCounts.ts"
import { PeerActivity } from "../../ports/PeerActivity.ts"
import { PeerEvents } from "../../ports/PeerEvents.ts"
import { type CarriedAnswer, type CarriedItem, PeerError, type PeerNode, Peers } from "../../ports/Peers.ts"
import { ShardLags } from "../../ports/ShardLags.ts"
import { decodeActivityReply } from "./activityWire.ts"
import { CallSignature, hashInSlices, signatureHeader } from "./CallSignature.ts"
import { decodeCensusReply, encodeCensusCall } from "./censusWire.ts"
import { decodeEventsReply, encodeEventsCall } from "./eventsWire.ts"
import { decodeFiringReply, encodeFiringCall } from "./firingWire.ts"
import { decodeLagsReply } from "./lagsWire.ts"
import { decodeWriteReply, encodeWriteCall, wireVersion } from "./peerWire.ts"

export interface HttpPeersOptions {
  /** Shared by all nodes of the cluster. */
  readonly secret: string
  readonly timeoutMs: number
  readonly nowMs?: () => number
  /** The PEM file of the authority that signed the certificates of nodes. If absent, those of the system count. */
  readonly caFile?: string
}

export const versionHeader = "punctual-wire"
/** The node that the call is for, percent-encoded. */
export const toHeader = "punctual-to"
export const callHeader = "punctual-call"
/** How much of an answer is read: as much as the same items may take as a call. */
const replyBytesMax = 16 * 1024 * 1024
/** A smaller call is encoded at once. */
const encodedAtOnce = 32 * 1024

export const HttpPeers = {
  layer: (
    options: HttpPeersOptions,
  ): Layer.Layer<Peers | ShardLags | PeerEvents | PeerActivity | CensusCounts> =>
    Layer.syncContext(() => {
      // The runtime's fetch uses HTTP_PROXY and similar variables, but nodes talk to each other directly.
      process.env["NO_PROXY"] = "*"
      const caller = new Caller(options)
      const peers = Peers.of({
        write: (to, items) =>
          Effect.flatMap(
            caller.post(to, "write", () => writeCall(items)),
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
      const events = PeerEvents.of({
        after: (to, position) =>
          Effect.flatMap(
            caller.post(to, "events", () => encodeEventsCall(position)),
            (text) => understood(decodeEventsReply(text)),
          ),
      })
      const activity = PeerActivity.of({
        of: (to) =>
          Effect.flatMap(
            caller.post(to, "activity", () => "{}"),
            (text) => understood(decodeActivityReply(text)),
          ),
      })
      const censusCounts = CensusCounts.of({
        of: (to, question) =>
          Effect.flatMap(
            caller.post(to, "census", () => encodeCensusCall(question)),
            (text) => understood(decodeCensusReply(text)),
          ),
      })
      return Context.make(Peers, peers).pipe(
        Context.add(ShardLags, lags),
        Context.add(PeerEvents, events),
        Context.add(PeerActivity, activity),
        Context.add(CensusCounts, censusCounts),
      )
    }),
} as const

/** The peer may have executed the call, but this node cannot read its answer. */
const understood = <A>(reply: Result.Result<A, string>): Effect.Effect<A, PeerError> =>
  Result.isSuccess(reply)
    ? Effect.succeed(reply.success)
    : new PeerError({ message: `its answer cannot be read: ${reply.failure}`, isUndelivered: false })

/** Several large calls may begin in one turn of the event loop. Each is encoded, hashed and sent in a turn of its own. */
const writeCall = async (items: ReadonlyArray<CarriedItem>): Promise<string> => {
  const bytes = items.reduce((sum, item) => sum + itemBytes(item), 0)
  if (bytes > encodedAtOnce) await nextUrgentTurn()
  return encodeWriteCall(items)
}

class Caller {
  readonly #options: HttpPeersOptions
  readonly #signature: CallSignature
  readonly #name = randomUUID()
  #calls = 0
  /** The calls that the caller waits for, by address. */
  readonly #open = new Map<string, Set<number>>()
  readonly #tls: { readonly tls?: { readonly ca: string } }

  constructor(options: HttpPeersOptions) {
    this.#options = options
    this.#signature = new CallSignature(options.secret)
    this.#tls = options.caFile === undefined ? {} : { tls: { ca: readFileSync(options.caFile, "utf8") } }
  }

  post(to: PeerNode, path: string, body: () => string | Promise<string>): Effect.Effect<string, PeerError> {
    return Effect.acquireUseRelease(
      Effect.sync(() => this.#begin(to.address)),
      (number) =>
        Effect.tryPromise({
          try: (signal) => this.#exchange({ to, path: `/internal/v1/${path}`, number, signal }, body),
          catch: asPeerError,
        }),
      (number) => Effect.sync(() => this.#end(to.address, number)),
    ).pipe(
      Effect.timeoutOrElse({
        duration: this.#options.timeoutMs,
        orElse: () =>
          new PeerError({ message: `no answer within ${this.#options.timeoutMs} ms`, isUndelivered: false }),
      }),
    )
  }

  async #exchange(
    { to, path, number, signal }: Exchange,
    text: () => string | Promise<string>,
  ): Promise<string> {
    const body = Buffer.from(await text())
    const bodyHash = await hashInSlices(body)
    const head = {
      version: String(wireVersion),
      method: "POST",
      path,
      to: encodeURIComponent(to.node),
      call: this.#callOf(to.address, number),
    }
    const signedAtMs = this.#options.nowMs?.() ?? Date.now()
    const response = await fetch(`${to.address}${path}`, {
      method: head.method,
      body,
      headers: {
        "content-type": "application/json",
        [versionHeader]: head.version,
        [toHeader]: head.to,
        [callHeader]: head.call,
        [signatureHeader]: this.#signature.headerOf(head, { signedAtMs, bodyHash }),
        ...(to.lacksSignatures === true ? { authorization: `Bearer ${this.#options.secret}` } : {}),
      },
      redirect: "manual",
      signal,
      ...this.#tls,
    })
    return readAnswer(response)
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

interface Exchange {
  readonly to: PeerNode
  readonly path: string
  readonly number: number
  readonly signal: AbortSignal
}

const readAnswer = async (response: Response): Promise<string> => {
  const text = await readBounded(response)
  if (response.status === 200) return text
  const refusal = textIn(text, "refused")
  const why = refusal ?? textIn(text, "repeated")
  throw new PeerError({
    message: `it answered ${response.status}${why === undefined ? "" : `: ${why}`}`,
    // Only a peer answers like this. A proxy in between may have given up on a peer that continues.
    isUndelivered: refusal !== undefined || response.status === 401 || response.status === 404,
  })
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
  // The certificate of the peer is refused.
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "CERT_HAS_EXPIRED",
  "ERR_TLS_CERT_ALTNAME_INVALID",
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

/** Why the peer did nothing (`refused`) or did nothing again (`repeated`), if it says so. */
const textIn = (answer: string, field: "refused" | "repeated"): string | undefined => {
  try {
    const json: unknown = JSON.parse(answer)
    const value: unknown = typeof json === "object" && json !== null ? Reflect.get(json, field) : undefined
    return typeof value === "string" ? value : undefined
  } catch {
    return undefined
  }
}
