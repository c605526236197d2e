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
import { Internal, MethodNotAllowed, type Problem } from "@punctual/api/Problem"
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
import type { Tracing } from "@punctual/telemetry/Tracing"
import { Cause, Context, Effect, Exit, LogLevel, References, Result } from "effect"
import type { Asked, ByEndpoint, Call, QuickForm } from "../calls/Call.ts"
import { narrowedTo } from "../calls/narrowedTo.ts"
import { unanswered } from "../calls/problemOf.ts"
import { whyForbidden } from "../calls/whyForbidden.ts"
import type { Mutable } from "../domain/Timer.ts"
import { WallClock } from "../ports/WallClock.ts"
import { type CallSpan, type CallSpans, callSpansOf } from "./CallSpans.ts"
import type { CallText } from "./CallText.ts"
import { callIds } from "./callIds.ts"
import { largeBodyBytes, tooManyCalls, tooManyLargeBodies, tooManyWalks, whyNotJson } from "./callRefusals.ts"
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
  /** Present if traces are exported. */
  readonly tracing?: Tracing["Service"]
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
  readonly span: CallSpan | undefined
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
  readonly #spans: CallSpans | undefined
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
    this.#spans = callSpansOf(options.tracing, endpoint)
    this.#metrics = routeMetrics(namePrefix, endpoint.path, context)
    this.#tellsCalls = LogLevel.isLessThanOrEqualTo(Context.get(context, References.MinimumLogLevel), "Debug")
  }

  handle(request: HttpRequest): Promise<HttpAnswer> {
    const startedAt = performance.now()
    const { quick } = this.#endpoint.call
    const span = this.#spans?.begin(request)
    const quickly = quick === undefined ? undefined : this.#answerQuickly(request, quick, startedAt, span)
    const answer = quickly ?? this.#timed(this.#answer(request, span), startedAt)
    if (span !== undefined) answer.then(span.answered, span.broken)
    return answer
  }

  async #timed(answering: Promise<HttpAnswer>, startedAt: number): Promise<HttpAnswer> {
    const answer = await answering
    this.#metrics.answered(answer.status, performance.now() - startedAt)
    return answer
  }

  /**
   * A small request that has arrived as a whole is decoded at once, and carried out without a fiber if it has the usual
   * form. `undefined`: nothing has happened, and the request goes the way of all others. The order of the checks is the
   * same there.
   */
  #answerQuickly(
    request: HttpRequest,
    quick: QuickForm<unknown>,
    startedAt: number,
    span: CallSpan | undefined,
  ): Promise<HttpAnswer> | undefined {
    const { text, maxBodyBytes } = this.#endpoint
    const { arrived } = request.body
    if (request.method !== "POST" || arrived === undefined) return undefined
    if (arrived.byteLength > Math.min(maxBodyBytes, quickBytesMax)) return undefined
    if (this.#calls.count >= this.#options.callsMax) return undefined
    if ((this.#whyClosed() ?? whyNotJson(request)) !== undefined) return undefined
    const caller = this.#admit(request)
    if (isRefusal(caller)) return this.#timed(this.#refused(caller), startedAt)
    const head: RequestFacts = { request, caller, trace: this.#traceOf(request, span), span }
    const read = text.read(arrived)
    if (read instanceof Promise)
      return this.#timed(
        this.#counted(async () => this.#answerRead(await read, head)),
        startedAt,
      )
    const body = "input" in read ? quick.read(read.input) : undefined
    if (body === undefined)
      return this.#timed(
        this.#counted(() => this.#answerRead(read, head)),
        startedAt,
      )
    const asked = this.#askedOf(body, head)
    if (!("caller" in asked)) return this.#timed(Promise.resolve(problemResponse(asked)), startedAt)
    return new Promise((resolve) => this.#beginQuickly(asked, quick, head, startedAt, resolve))
  }

  #beginQuickly(
    asked: Asked<object>,
    quick: QuickForm<unknown>,
    head: RequestFacts,
    startedAt: number,
    resolve: (answer: HttpAnswer | Promise<HttpAnswer>) => void,
  ): void {
    const { answers, action } = this.#endpoint
    this.#calls.count++
    const finish = (answer: HttpAnswer): void => {
      this.#calls.count--
      this.#metrics.answered(answer.status, performance.now() - startedAt)
      resolve(answer)
    }
    const wait = answers.begin(() => finish(problemResponse(unanswered(action))))
    const onAnswer = (answer: Effect.Effect<unknown, Problem>): void => {
      if (!answers.finish(wait)) return
      const written = Exit.isExit(answer) ? this.#writtenAtOnce(answer, asked) : undefined
      if (written !== undefined) finish(written)
      else this.#orDefect(this.#run(answer).then((exit) => this.#answerExit(exit, asked, head))).then(finish)
    }
    try {
      if (quick.begin(asked, onAnswer)) return
    } catch (error) {
      onAnswer(Exit.die(error))
      return
    }
    answers.finish(wait)
    this.#calls.count--
    resolve(
      this.#timed(
        this.#counted(() => this.#answerAsked(asked, head)),
        startedAt,
      ),
    )
  }

  async #answer(request: HttpRequest, span: CallSpan | undefined): Promise<HttpAnswer> {
    if (request.method !== "POST") {
      const detail = `Use POST for ${this.#endpoint.path}.`
      return problemResponse(new MethodNotAllowed({ detail }), { allow: "POST" })
    }
    const closed = this.#whyClosed() ?? whyNotJson(request)
    if (closed !== undefined) return problemResponse(closed)
    const caller = this.#admit(request)
    if (isRefusal(caller)) return this.#refused(caller)
    try {
      const { maxBodyBytes, bodyLimit } = this.#endpoint
      const trace = this.#traceOf(request, span)
      const answerBody = (read: BodyRead) => this.#answerBody(read, { request, caller, trace, span })
      return await this.#options.bodies.withBody(request, maxBodyBytes, answerBody, limitHints[bodyLimit])
    } catch (error) {
      return problemResponse(this.#problemOf(Cause.die(error), undefined))
    }
  }

  #traceOf({ headers }: HttpRequest, span: CallSpan | undefined): string | undefined {
    if (span !== undefined) return span.traceparent
    const header = this.#endpoint.readsTrace ? headers.get("traceparent") : null
    return header === null ? undefined : traceparentOfHeader(header)
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
    return isRefusal(caller) ? this.#refused(caller) : this.#answerRead(request, { ...head, caller })
  }

  async #answerRead(read: RequestRead, head: RequestFacts): Promise<HttpAnswer> {
    const asked = this.#decode(read, head)
    return "caller" in asked ? this.#answerAsked(asked, head) : problemResponse(asked)
  }

  async #answerAsked(asked: Asked<unknown>, head: RequestFacts): Promise<HttpAnswer> {
    const { answers, call, tooLate } = this.#endpoint
    const exit = await answers.within(this.#run(Effect.suspend(() => call(asked))), tooLate, tooLate)
    return this.#answerExit(exit, asked, head)
  }

  async #answerExit(
    exit: Exit.Exit<unknown, Problem>,
    asked: Asked<unknown>,
    head: RequestFacts,
  ): Promise<HttpAnswer> {
    if (Exit.isSuccess(exit)) {
      if (this.#tellsCalls) this.#tell(asked, "succeeded")
      const text = this.#endpoint.write(exit.value)
      return this.#answerOf(typeof text === "string" ? text : await text, exit.value, asked)
    }
    const problem = this.#problemOf(exit.cause, asked)
    if (this.#endpoint.needsNoKey === true && wrongKeyCodes.has(problem.code)) {
      await this.#options.callerCheck?.wrongKeyInBody(head.request)
    }
    if (this.#tellsCalls) this.#tell(asked, problem.code)
    return problemResponse(problem)
  }

  /** `undefined` if the answer is no success, or its text is made in slices. */
  #writtenAtOnce(exit: Exit.Exit<unknown, unknown>, asked: Asked<unknown>): HttpAnswer | undefined {
    if (!Exit.isSuccess(exit) || this.#tellsCalls) return undefined
    try {
      const text = this.#endpoint.write(exit.value)
      return typeof text === "string" ? this.#answerOf(text, exit.value, asked) : undefined
    } catch (error) {
      return problemResponse(this.#problemOf(Cause.die(error), asked))
    }
  }

  #answerOf(text: string, value: unknown, { caller, receivedAt }: Asked<unknown>): HttpAnswer {
    const answer = jsonAnswer(text)
    const more = this.#endpoint.headersOf?.(value) ?? expiryHeaders(caller, receivedAt)
    return more === undefined ? answer : { ...answer, headers: { ...answer.headers, ...more } }
  }

  /** Counts a call whose body needs no turn. */
  async #counted(answer: () => Promise<HttpAnswer>): Promise<HttpAnswer> {
    this.#calls.count++
    try {
      return await this.#orDefect(answer())
    } finally {
      this.#calls.count--
    }
  }

  #orDefect(answer: Promise<HttpAnswer>): Promise<HttpAnswer> {
    return answer.catch((error: unknown) => problemResponse(this.#problemOf(Cause.die(error), undefined)))
  }

  /** A log line for following one call. It has the route and the ids of the request, and never the payload. */
  #tell(call: Asked<unknown>, outcome: string): void {
    const annotations = { route: this.#endpoint.path, outcome, ...callIds(call) }
    this.#log(Effect.annotateLogs(Effect.logDebug("call answered"), annotations))
  }

  #decode(read: RequestRead, head: RequestFacts): Asked<unknown> | Problem {
    if ("problem" in read) return read.problem
    const decoded = this.#endpoint.decode(read.input)
    return Result.isFailure(decoded) ? invalidRequest(decoded.failure) : this.#askedOf(decoded.success, head)
  }

  #askedOf<Body>(decoded: Body, { caller, trace, request, span }: RequestFacts): Asked<Body> | Problem {
    span?.about(decoded)
    const body = caller === anonymous ? decoded : narrowedTo(caller, this.#endpoint, decoded)
    const forbidden = caller === anonymous ? undefined : whyForbidden(this.#endpoint, body, caller)
    if (forbidden !== undefined) return forbidden
    const asked: Mutable<Asked<Body>> = {
      body,
      caller: caller === anonymous ? { ...anonymous, address: request.remoteAddress } : caller,
      receivedAt: this.#now(),
      requestId: request.requestId,
    }
    if (trace !== undefined) asked.traceparent = trace
    if (request.isSecure === true) asked.isSecure = true
    // Only calls about sessions need it, and these need no key.
    if (this.#endpoint.needsNoKey === true) asked.port = askedPortOf(request)
    return asked
  }

  /** An unexpected error is logged with its cause. The answer does not contain the cause. */
  #problemOf(cause: Cause.Cause<Problem>, call: Asked<unknown> | undefined): Problem {
    const failure = Cause.findError(cause)
    if (Result.isSuccess(failure)) return failure.success
    this.#log(
      Effect.logError("A call failed with an unexpected error.", cause).pipe(
        Effect.annotateLogs({ route: this.#endpoint.path, ...callIds(call) }),
      ),
    )
    return new Internal({ detail: "An unexpected error. The log of the service has the cause." })
  }
}

/** The answers to a key in the body that is not valid. */
const wrongKeyCodes: ReadonlySet<string> = new Set(["unauthorized", "keyNotFound"])

/** Larger bodies are parsed in slices. */
const quickBytesMax = 16 * 1024
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

/** The call continues, but its answer is dropped. */
const tooLateFor = (action: NeededAction) => (): Exit.Exit<never, Problem> => Exit.fail(unanswered(action))

const limitHints = {
  bodyBytes: limitHint("bodyBytes"),
  createManyBodyBytes: limitHint("createManyBodyBytes"),
}
