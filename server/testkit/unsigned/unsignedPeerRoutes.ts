// How a node answered other nodes before calls were signed: it compared the cluster's secret. Tests use it to run such a
// node beside new ones. It stays as that release had it.
import { createHash, timingSafeEqual } from "node:crypto"
import { type HttpAnswer, jsonAnswer } from "@punctual/http/HttpAnswer"
import type { HttpRequest } from "@punctual/http/HttpRequest"
import { defaultBodyOptions, RequestBodies } from "@punctual/http/RequestBody"
import { Effect, Result } from "effect"
import type { Scheduler } from "../../src/engine/front/Scheduler.ts"
import { decodeFiringCall, encodeFiringReply } from "../../src/peers/http/firingWire.ts"
import { encodeLagsReply } from "../../src/peers/http/lagsWire.ts"
import { decodeWriteCall, encodeWriteReply, wireVersion } from "../../src/peers/http/peerWire.ts"
import type { ShardLag } from "../../src/ports/ShardLags.ts"
import { callHeader, toHeader, versionHeader } from "./UnsignedPeers.ts"

export interface UnsignedPeerRoutesOptions {
  /** The name of this node. It refuses calls for other nodes. */
  readonly node: string
  readonly scheduler: Pick<Scheduler["Service"], "accept" | "firingHere">
  /** Shards were released that may be assigned to this node. */
  readonly nudge: Effect.Effect<void>
  /** The lags of the shards that this node owns. */
  readonly lags: () => ReadonlyArray<ShardLag>
  /** Shared by all nodes of the cluster. Without a secret, the routes answer 404. */
  readonly secret: string | undefined
  /** Longer than any caller waits. */
  readonly answerWithinMs?: number
}

/** Everything below this path. */
export const peerPath = "/internal/v1/"
export const bodyBytesMax = 8 * 1024 * 1024
/** A call about 1,000 timers has much less. It is parsed at once. */
const firingBytesMax = 512 * 1024
const bodyTimeoutMs = 5_000
const answerWithinMs = 10_000
/** The number of callers whose last call is remembered. */
const callersMax = 1_000

type Answer = (body: Uint8Array) => Effect.Effect<HttpAnswer>

export const makeUnsignedPeerRoutes = (
  options: UnsignedPeerRoutesOptions,
): Effect.Effect<(request: HttpRequest) => Promise<HttpAnswer>> =>
  Effect.map(Effect.context<never>(), (context) => {
    const run = Effect.runPromiseWith(context)
    const bodies = new RequestBodies({ ...defaultBodyOptions, timeoutMs: bodyTimeoutMs })
    const callers = new Callers()
    const answers = answersOf(options)
    const isSecret = secretCheck(options.secret)
    const withinMs = options.answerWithinMs ?? answerWithinMs
    const answer = (path: string, body: Uint8Array): Promise<HttpAnswer> =>
      run(
        (answers.get(path) ?? notThere)(body).pipe(
          // The call may still be executed, so the answer must not say that it was refused.
          Effect.timeoutOrElse({
            duration: withinMs,
            orElse: () => Effect.succeed<HttpAnswer>({ status: 504, headers: {}, body: "" }),
          }),
        ),
      )
    return async (request) => {
      const path = request.path.slice(peerPath.length)
      if (options.secret === undefined || !answers.has(path)) return refused(404, "there is nothing here")
      if (!isSecret(request.headers.get("authorization")))
        return refused(401, "the cluster's secret is missing or wrong")
      if (request.method !== "POST") return refused(405, "use POST")
      const version = request.headers.get(versionHeader)
      if (version !== String(wireVersion)) {
        const theirs = version ?? "none"
        return refused(
          400,
          `this node uses version ${wireVersion} of the cluster protocol, not ${theirs}: run one release on all nodes`,
        )
      }
      if (request.headers.get(toHeader) !== encodeURIComponent(options.node))
        return refused(421, "the call is for another node, which is no longer at this address")
      const why = callers.whyNot(request.headers.get(callHeader))
      if (why !== undefined) return refused(409, why)
      return bodies.withBody(request, bodyBytesMax, async (read) =>
        "problem" in read
          ? refused(read.problem.status, read.problem.detail ?? read.problem.title)
          : answer(path, read.bytes),
      )
    }
  })

const decoder = new TextDecoder()

const answersOf = ({ scheduler, nudge, lags }: UnsignedPeerRoutesOptions): ReadonlyMap<string, Answer> =>
  new Map<string, Answer>([
    [
      "write",
      (body) =>
        Effect.flatMap(decodeWriteCall(body), (items) =>
          Result.isFailure(items)
            ? Effect.succeed(refused(400, items.failure))
            : Effect.map(scheduler.accept(items.success), (answers) => jsonAnswer(encodeWriteReply(answers))),
        ),
    ],
    [
      "firing",
      (body) => {
        if (body.byteLength > firingBytesMax) return Effect.succeed(refused(413, "it has too many bytes"))
        const timers = decodeFiringCall(decoder.decode(body))
        return Effect.succeed(
          Result.isFailure(timers)
            ? refused(400, timers.failure)
            : jsonAnswer(encodeFiringReply(scheduler.firingHere(timers.success))),
        )
      },
    ],
    ["nudge", () => Effect.map(nudge, () => jsonAnswer("{}"))],
    ["lags", () => Effect.sync(() => jsonAnswer(encodeLagsReply(lags())))],
  ])

const notThere: Answer = () => Effect.succeed(refused(404, "there is nothing here"))

/** All digests have the same length, so neither the time nor an error reveals how close a guess was. */
const secretCheck = (secret: string | undefined): ((authorization: string | null) => boolean) => {
  const digest = (text: string) => createHash("sha256").update(text).digest()
  const expected = digest(`Bearer ${secret ?? ""}`)
  return (authorization) => timingSafeEqual(digest(authorization ?? ""), expected)
}

/** The lowest call number that each caller still waits for. Calls below it have been given up. */
class Callers {
  readonly #lowest = new Map<string, number>()

  whyNot(header: string | null): string | undefined {
    const [name = "", number = "", lowest = ""] = (header ?? "").split(" ")
    if (!/^[\w-]{1,64} \d{1,15} \d{1,15}$/.test(header ?? ""))
      return `the header ${callHeader} is missing or malformed`
    const known = this.#lowest.get(name) ?? 0
    // The most recent callers are remembered longest.
    this.#lowest.delete(name)
    this.#lowest.set(name, Math.max(known, Number(lowest)))
    const [oldest] = this.#lowest.keys()
    if (this.#lowest.size > callersMax && oldest !== undefined) this.#lowest.delete(oldest)
    return Number(number) < known ? "its caller has given up on it" : undefined
  }
}

const refused = (status: number, why: string): HttpAnswer =>
  jsonAnswer(JSON.stringify({ refused: why }), status)
