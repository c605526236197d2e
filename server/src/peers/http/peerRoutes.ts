// The routes for other nodes: to write to shards that this node owns, to ask which attempts are running, how far it
// lags, what has happened and what it counts, and to make it look for released shards. Only nodes that know the cluster's secret are answered. A refused call
// has done nothing, and the answer says so: `{ "refused": why }`.
import { timingSafeEqual } from "node:crypto"
import { type HttpAnswer, jsonAnswer } from "@punctual/http/HttpAnswer"
import type { HttpRequest } from "@punctual/http/HttpRequest"
import { defaultBodyOptions, RequestBodies } from "@punctual/http/RequestBody"
import { Effect, Result } from "effect"
import type { EventFeed } from "../../engine/events/EventFeed.ts"
import type { Scheduler } from "../../engine/front/Scheduler.ts"
import type { UnstoredActivity } from "../../ports/PeerActivity.ts"
import type { ShardLag } from "../../ports/ShardLags.ts"
import { encodeActivityReply } from "./activityWire.ts"
import { CallAdmission, type CallAdmissionOptions } from "./CallAdmission.ts"
import { hashInSlices } from "./CallSignature.ts"
import { decodeCensusCall, encodeCensusReply } from "./censusWire.ts"
import { decodeEventsCall, encodeEventsReply, eventsPageMax } from "./eventsWire.ts"
import { decodeFiringCall, encodeFiringReply } from "./firingWire.ts"
import { encodeLagsReply } from "./lagsWire.ts"
import { decodeWriteCall, encodeWriteReply } from "./peerWire.ts"

export interface PeerRoutesOptions
  extends Pick<CallAdmissionOptions, "node" | "isSecretAccepted">,
    Partial<Pick<CallAdmissionOptions, "nowMs" | "uptimeMs">> {
  readonly scheduler: Pick<Scheduler["Service"], "accept" | "firingHere" | "countsHere">
  /** Shards were released that may be assigned to this node. */
  readonly nudge: Effect.Effect<void>
  /** The lags of the shards that this node owns. */
  readonly lags: () => ReadonlyArray<ShardLag>
  /** The events of the timers that this node owns. */
  readonly events: Pick<EventFeed, "next">
  /** What this node has counted and not stored yet. */
  readonly activity: () => UnstoredActivity
  /** Shared by all nodes of the cluster. Without a secret, the routes answer 404. */
  readonly secret: string | undefined
  /** Longer than any caller waits. */
  readonly answerWithinMs?: number
}

/** Everything below this path. */
export const peerPath = "/internal/v1/"
export const bodyBytesMax = 8 * 1024 * 1024
/** A call about 1,000 timers or namespaces has much less. It is parsed at once. */
const smallBytesMax = 512 * 1024
/** How long a node waits here for the next event. It is shorter than any caller waits. */
const eventsHoldMs = 1_000
const bodyTimeoutMs = 5_000
const answerWithinMs = 10_000

type Answer = (body: Uint8Array) => Effect.Effect<HttpAnswer>

export const makePeerRoutes = (
  options: PeerRoutesOptions,
): Effect.Effect<(request: HttpRequest) => Promise<HttpAnswer>> =>
  Effect.map(Effect.context<never>(), (context) => {
    const run = Effect.runPromiseWith(context)
    const bodies = new RequestBodies({ ...defaultBodyOptions, timeoutMs: bodyTimeoutMs })
    const admission = admissionOf(options)
    const answers = answersOf(options)
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
      if (admission === undefined || !answers.has(path)) return refused(404, "there is nothing here")
      const admitted = admission.admit(request)
      if ("status" in admitted) {
        const { status, ...why } = admitted
        return jsonAnswer(JSON.stringify(why), status)
      }
      return bodies.withBody(request, bodyBytesMax, async (read) => {
        if ("problem" in read) return refused(read.problem.status, read.problem.detail ?? read.problem.title)
        return (await hasHash(read.bytes, admitted.bodyHash))
          ? answer(path, read.bytes)
          : refused(401, "its body is not the body that its caller has signed")
      })
    }
  })

const admissionOf = ({ secret, ...options }: PeerRoutesOptions): CallAdmission | undefined => {
  if (secret === undefined) return undefined
  const startedMs = performance.now()
  return new CallAdmission({
    nowMs: Date.now,
    uptimeMs: () => performance.now() - startedMs,
    ...options,
    secret,
  })
}

const hasHash = async (bytes: Uint8Array, hash: Buffer | undefined): Promise<boolean> =>
  hash === undefined || timingSafeEqual(await hashInSlices(bytes), hash)

const decoder = new TextDecoder()

const answersOf = ({
  scheduler,
  nudge,
  lags,
  events,
  activity,
}: PeerRoutesOptions): ReadonlyMap<string, Answer> =>
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
        if (body.byteLength > smallBytesMax) return Effect.succeed(refused(413, "it has too many bytes"))
        const timers = decodeFiringCall(decoder.decode(body))
        return Effect.succeed(
          Result.isFailure(timers)
            ? refused(400, timers.failure)
            : jsonAnswer(encodeFiringReply(scheduler.firingHere(timers.success))),
        )
      },
    ],
    [
      "census",
      (body) => {
        if (body.byteLength > smallBytesMax) return Effect.succeed(refused(413, "it has too many bytes"))
        const question = decodeCensusCall(decoder.decode(body))
        return Result.isFailure(question)
          ? Effect.succeed(refused(400, question.failure))
          : Effect.map(scheduler.countsHere(question.success), (counted) =>
              jsonAnswer(encodeCensusReply(counted)),
            )
      },
    ],
    ["nudge", () => Effect.map(nudge, () => jsonAnswer("{}"))],
    ["lags", () => Effect.sync(() => jsonAnswer(encodeLagsReply(lags())))],
    ["activity", () => Effect.sync(() => jsonAnswer(encodeActivityReply(activity())))],
    [
      "events",
      (body) => {
        if (body.byteLength > smallBytesMax) return Effect.succeed(refused(413, "it has too many bytes"))
        const position = decodeEventsCall(decoder.decode(body))
        return Result.isFailure(position)
          ? Effect.succeed(refused(400, position.failure))
          : Effect.map(events.next(position.success, eventsPageMax, eventsHoldMs), (page) =>
              jsonAnswer(encodeEventsReply({ ...page, events: page.events.map(({ event }) => event) })),
            )
      },
    ],
  ])

const notThere: Answer = () => Effect.succeed(refused(404, "there is nothing here"))

const refused = (status: number, why: string): HttpAnswer =>
  jsonAnswer(JSON.stringify({ refused: why }), status)
