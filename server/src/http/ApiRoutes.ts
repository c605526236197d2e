// Serves every call of the contract over HTTP in the same way. Paths, schemas, limits and times come from the
// definition, and the call is found by its group and name. The server that Effect generates from the same definition
// does this too, but costs several times more per request. A test proves that both accept and refuse the same bodies.
//
// If a JSON object has duplicate keys, the last one counts, as is usual for JSON parsers.
import "effect/schema/SchemaJITCompiler/enable"
import type { NeededAction } from "@punctual/api/CallTerms"
import { type ContractEndpoint, contractEndpoints } from "@punctual/api/contractEndpoints"
import { invalidRequest } from "@punctual/api/invalidRequest"
import { type Limits, limitHint } from "@punctual/api/Limits"
import {
  Internal,
  MethodNotAllowed,
  Overloaded,
  type Problem,
  UnsupportedMediaType,
} from "@punctual/api/Problem"
import { traceparentOfHeader } from "@punctual/api/Traceparent"
import { anonymous, type Caller } from "@punctual/door/Caller"
import { isRefusal, type Refusal } from "@punctual/door/Gate"
import { type CallerCheck, expiryHeaders } from "@punctual/http/CallerCheck"
import { Deadlines } from "@punctual/http/Deadlines"
import { type HttpAnswer, jsonAnswer } from "@punctual/http/HttpAnswer"
import { type RouteMetrics, routeMetrics } from "@punctual/http/HttpMetrics"
import { askedPortOf, type HttpRequest } from "@punctual/http/HttpRequest"
import { problemResponse } from "@punctual/http/problemResponse"
import type { BodyRead, RequestBodies } from "@punctual/http/RequestBody"
import { type RequestRead, RequestText } from "@punctual/http/RequestText"
import type { Route } from "@punctual/http/Route"
import { Turns } from "@punctual/http/Turns"
import { Cause, Context, Effect, Exit, LogLevel, References, Result } from "effect"
import type { Asked, ByEndpoint, Call } from "../calls/Call.ts"
import { narrowedTo } from "../calls/narrowedTo.ts"
import { unanswered } from "../calls/problemOf.ts"
import { whyForbidden } from "../calls/whyForbidden.ts"
import { WallClock } from "../ports/WallClock.ts"
import type { CallText } from "./CallText.ts"
import { namePrefix } from "./namePrefix.ts"

export interface ApiRoutesOptions {
  readonly limits: Limits
  readonly callOf: (endpoint: ContractEndpoint) => Call<unknown, unknown>
  /** For calls whose text is not read and written by the schemas of the contract alone. */
  readonly texts: ByEndpoint<CallText<never>>
  readonly bodies: RequestBodies
  /** How long a call may wait for its answer, unless its endpoint declares another time. */
  readonly answerTimeoutMs: number
  /** The largest number of calls at once. Further calls are refused and may retry. */
  readonly callsMax: number
  /** Why the service cannot answer calls now: it waits for its store or is stopping. `undefined` if it can. */
  readonly whyClosed: () => Problem | undefined
  /** Who may call. If it is absent, everyone may. */
  readonly callerCheck?: CallerCheck
}

/** The keys are paths. */
export const makeApiRoutes = (
  options: ApiRoutesOptions,
): Effect.Effect<ReadonlyMap<string, Route>, never, WallClock> =>
  Effect.map(Effect.context<WallClock>(), (context) => {
    const calls: CallsUnderWay = {
      count: 0,
      largeBodies: new Turns(largeBodyTurns),
      walks: new Turns(walkTurns(options.callsMax)),
    }
    const usual = new Deadlines(options.answerTimeoutMs)
    const routes = contractEndpoints(options.limits).map((endpoint): readonly [string, Route] => {
      const { group, name, path, answerWithinMs } = endpoint
      const text = options.texts[group]?.[name]
      const served: ServedEndpoint = {
        ...endpoint,
        answers: answerWithinMs === undefined ? usual : new Deadlines(answerWithinMs),
        tooLate: tooLateFor(endpoint.action),
        text: new RequestText({ payloads: text?.payloads, itemsMax: options.limits.createMany }),
        readsTrace: text?.readsTrace === true,
        call: options.callOf(endpoint),
        // Each text gets the answer of its own call.
        write:
          (text?.write as CallText<unknown>["write"]) ??
          ((answer) => JSON.stringify(endpoint.encode(answer))),
        headersOf: text?.headersOf as CallText<unknown>["headersOf"],
      }
      return [path, new ApiRoute(options, context, calls, served)]
    })
    return new Map(routes)
  })

interface ServedEndpoint extends ContractEndpoint {
  readonly answers: Deadlines
  readonly tooLate: () => Exit.Exit<never, Problem>
  readonly text: RequestText
  readonly readsTrace: boolean
  readonly call: Call<unknown, unknown>
  readonly write: (answer: unknown) => string | Promise<string>
  /** More headers of the answer. */
  readonly headersOf: ((answer: unknown) => Readonly<Record<string, string>>) | undefined
}

/** What is known about a request before its body is read. */
interface RequestFacts {
  readonly request: HttpRequest
  readonly caller: Caller
  readonly trace: string | undefined
}

/** What all routes share. */
interface CallsUnderWay {
  count: number
  /**
   * One call with a large body runs at a time, because it needs a multiple of its body in memory. The addresses of the
   * clients take turns.
   */
  readonly largeBodies: Turns
  /** The same for calls that read many rows: each may hold a page of rows and its text in memory. */
  readonly walks: Turns
}

class ApiRoute implements Route {
  readonly methods = ["POST"]
  readonly #options: ApiRoutesOptions
  readonly #endpoint: ServedEndpoint
  readonly #calls: CallsUnderWay
  readonly #now: () => number
  readonly #run: (effect: Effect.Effect<unknown, Problem>) => Promise<Exit.Exit<unknown, Problem>>
  readonly #log: (effect: Effect.Effect<void>) => void
  readonly #metrics: RouteMetrics
  /** Read once, because even a dropped log line would cost time in every call. */
  readonly #tellsCalls: boolean

  constructor(
    options: ApiRoutesOptions,
    context: Context.Context<WallClock>,
    calls: CallsUnderWay,
    endpoint: ServedEndpoint,
  ) {
    this.#options = options
    this.#endpoint = endpoint
    this.#calls = calls
    this.#now = Context.get(context, WallClock).now
    this.#run = Effect.runPromiseExitWith(context)
    this.#log = Effect.runForkWith(context)
    this.#metrics = routeMetrics(namePrefix, endpoint.path, context)
    this.#tellsCalls = LogLevel.isLessThanOrEqualTo(Context.get(context, References.MinimumLogLevel), "Debug")
  }

  async handle(request: HttpRequest): Promise<HttpAnswer> {
    const startedAt = performance.now()
    const response = await this.#answer(request)
    this.#metrics.answered(response.status, performance.now() - startedAt)
    return response
  }

  async #answer(request: HttpRequest): Promise<HttpAnswer> {
    if (request.method !== "POST") {
      const detail = `Use POST for ${this.#endpoint.path}.`
      return problemResponse(new MethodNotAllowed({ detail }), { allow: "POST" })
    }
    const closed = this.#whyClosed() ?? whyNotJson(request)
    if (closed !== undefined) return problemResponse(closed)
    const caller = this.#admit(request)
    if (isRefusal(caller)) return this.#refused(caller)
    try {
      const { maxBodyBytes, bodyLimit, readsTrace } = this.#endpoint
      const header = readsTrace ? request.headers.get("traceparent") : null
      const trace = header === null ? undefined : traceparentOfHeader(header)
      const answerBody = (read: BodyRead) => this.#answerBody(read, { request, caller, trace })
      return await this.#options.bodies.withBody(request, maxBodyBytes, answerBody, limitHints[bodyLimit])
    } catch (error) {
      return problemResponse(this.#problemOf(Cause.die(error), undefined))
    }
  }

  #admit(request: HttpRequest): Caller | Refusal {
    const { callerCheck } = this.#options
    return callerCheck === undefined || this.#endpoint.needsNoKey === true
      ? anonymous
      : callerCheck.admit(request)
  }

  async #refused(refusal: Refusal): Promise<HttpAnswer> {
    return this.#options.callerCheck?.refused(refusal) ?? problemResponse(refusal.problem)
  }

  /** A key may end while the body arrives, or while the call waits for its turn. */
  #admitAgain({ request, caller }: RequestFacts): Caller | Refusal {
    const hasWaited = request.body.arrived === undefined || this.#endpoint.takesTurns === true
    return hasWaited ? this.#admit(request) : caller
  }

  #whyClosed(): Problem | undefined {
    return this.#endpoint.answersWhenClosed === true ? undefined : this.#options.whyClosed()
  }

  /** A call counts from here on, because a body that has not arrived costs no work. */
  async #answerBody(read: BodyRead, head: RequestFacts): Promise<HttpAnswer> {
    if ("problem" in read) return problemResponse(read.problem)
    if (this.#calls.count >= this.#options.callsMax) return problemResponse(tooManyCalls())
    this.#calls.count++
    try {
      const { bytes } = read
      const { addressGroup } = head.request
      const answer = () => this.#answerCall(bytes, head)
      if (bytes.byteLength > largeBodyBytes) {
        return await this.#calls.largeBodies.run(addressGroup, answer, tooManyLargeBodies)
      }
      if (this.#endpoint.takesTurns !== true) return await answer()
      return await this.#calls.walks.run(addressGroup, answer, tooManyWalks, restAfterPage)
    } finally {
      this.#calls.count--
    }
  }

  async #answerCall(bytes: Uint8Array, head: RequestFacts): Promise<HttpAnswer> {
    const text = this.#endpoint.text.read(bytes)
    const request = text instanceof Promise ? await text : text
    const caller = this.#admitAgain(head)
    if (isRefusal(caller)) return this.#refused(caller)
    const asked = this.#decode(request, { ...head, caller })
    if (!("caller" in asked)) return problemResponse(asked)
    const { answers, call, write, tooLate, headersOf, needsNoKey } = this.#endpoint
    const exit = await answers.within(this.#run(Effect.suspend(() => call(asked))), tooLate, tooLate)
    if (Exit.isSuccess(exit)) {
      if (this.#tellsCalls) this.#tell(asked, "succeeded")
      const text = write(exit.value)
      const answer = jsonAnswer(typeof text === "string" ? text : await text)
      const more = headersOf?.(exit.value) ?? expiryHeaders(caller, asked.receivedAt)
      return more === undefined ? answer : { ...answer, headers: { ...answer.headers, ...more } }
    }
    const problem = this.#problemOf(exit.cause, asked)
    if (needsNoKey === true && wrongKeyCodes.has(problem.code)) {
      await this.#options.callerCheck?.wrongKeyInBody(head.request)
    }
    if (this.#tellsCalls) this.#tell(asked, problem.code)
    return problemResponse(problem)
  }

  /** A log line for following one call. It has the route and the ids of the request, and never the payload. */
  #tell(call: Asked<unknown>, outcome: string): void {
    const annotations = { route: this.#endpoint.path, outcome, ...idsOf(call) }
    this.#log(Effect.annotateLogs(Effect.logDebug("call answered"), annotations))
  }

  #decode(read: RequestRead, { caller, trace, request }: RequestFacts): Asked<unknown> | Problem {
    if ("problem" in read) return read.problem
    const decoded = this.#endpoint.decode(read.input)
    if (Result.isFailure(decoded)) return invalidRequest(decoded.failure)
    const body = caller === anonymous ? decoded.success : narrowedTo(caller, this.#endpoint, decoded.success)
    const forbidden = caller === anonymous ? undefined : whyForbidden(this.#endpoint, body, caller)
    if (forbidden !== undefined) return forbidden
    return {
      body,
      caller: caller === anonymous ? { ...anonymous, address: request.remoteAddress } : caller,
      receivedAt: this.#now(),
      requestId: request.requestId,
      ...(trace === undefined ? undefined : { traceparent: trace }),
      ...(request.isSecure === true ? { isSecure: true } : undefined),
      // Only calls about sessions need it, and these need no key.
      ...(this.#endpoint.needsNoKey === true ? { port: askedPortOf(request) } : undefined),
    }
  }

  /** An unexpected error is logged with its cause. The answer does not contain the cause. */
  #problemOf(cause: Cause.Cause<Problem>, call: Asked<unknown> | undefined): Problem {
    const failure = Cause.findError(cause)
    if (Result.isSuccess(failure)) return failure.success
    this.#log(
      Effect.logError("A call failed with an unexpected error.", cause).pipe(
        Effect.annotateLogs({ route: this.#endpoint.path, ...idsOf(call) }),
      ),
    )
    return new Internal({ detail: "An unexpected error. The log of the service has the cause." })
  }
}

/** The answers to a key in the body that is not valid. */
const wrongKeyCodes: ReadonlySet<string> = new Set(["unauthorized", "keyNotFound"])

/** Bodies above this size take turns. */
export const largeBodyBytes = 1024 * 1024
/** The limits of bodies in memory, in total and for one address, also limit how many can wait. */
const largeBodyTurns = { atOnce: 1, waitingMax: 256, waitAtMostMs: 10_000 }
/** A page and the rows that are read ahead of it take some megabytes. */
const walkTurns = (callsMax: number) => ({
  atOnce: 4,
  // Calls that wait count as running. They must not take the places of all others.
  waitingMax: Math.ceil(callsMax / 4),
  waitAtMostMs: 10_000,
})
/** All pages together have at most 16 MiB in a second. Reading and writing a megabyte takes 3 to 10 ms of the thread. */
const pageBytesPerMs = (16 * 1024 * 1024) / 1_000

const restAfterPage = ({ body }: HttpAnswer): number =>
  typeof body === "string" ? body.length / pageBytesPerMs : 0

const idsOf = (call: Asked<unknown> | undefined): { requestId?: string; correlationId?: string } => {
  const { body, requestId } = call ?? {}
  return {
    ...(requestId === undefined ? {} : { requestId }),
    ...(typeof body === "object" &&
    body !== null &&
    "correlationId" in body &&
    typeof body.correlationId === "string"
      ? { correlationId: body.correlationId }
      : {}),
  }
}

/** The call continues, but its answer is dropped. */
const tooLateFor = (action: NeededAction) => (): Exit.Exit<never, Problem> => Exit.fail(unanswered(action))

const limitHints = {
  bodyBytes: limitHint("bodyBytes"),
  createManyBodyBytes: limitHint("createManyBodyBytes"),
}

const tooManyCalls = (): Problem =>
  new Overloaded({
    detail: "Too many calls are running. This limit is fixed. Nothing was written: retry.",
    retryAfterSeconds: 1,
    written: "no",
  })

const tooManyLargeBodies = (): HttpAnswer =>
  problemResponse(
    new Overloaded({
      detail: `Too many bodies above ${largeBodyBytes} bytes are waiting. This limit is fixed. Nothing was written: retry, or send smaller bodies.`,
      retryAfterSeconds: 1,
      written: "no",
    }),
  )

const tooManyWalks = (): HttpAnswer =>
  problemResponse(
    new Overloaded({
      detail:
        "Too many calls that read many timers are waiting. This limit is fixed. Nothing was written: retry.",
      retryAfterSeconds: 1,
      written: "no",
    }),
  )

const jsonMediaType = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?;?\s*$/i

/** A longer one is not JSON. The limit keeps the expression quick. */
const mediaTypeCharsMax = 100

const whyNotJson = (request: HttpRequest): Problem | undefined => {
  const mediaType = request.headers.get("content-type")
  if (mediaType === "application/json") return undefined
  if (mediaType !== null && mediaType.length <= mediaTypeCharsMax && jsonMediaType.test(mediaType))
    return undefined
  return new UnsupportedMediaType({
    detail: "Send the body as JSON, in UTF-8, with the header content-type: application/json.",
  })
}
