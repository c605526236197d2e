// The one way in which every call of the contract is served: path and schema come from the definition,
// the handler by its name. The server that Effect generates from the same definition does this too, at
// several times the cost per request; a test proves that both accept and refuse the same bodies.
//
// Of duplicate keys in a JSON object the last one counts, as JSON parsers commonly have it.
import "effect/schema/SchemaJITCompiler/enable"
import { invalidRequest } from "@punctual/api/invalidRequest"
import type { Limits } from "@punctual/api/Limits"
import {
  Internal,
  InvalidJson,
  MethodNotAllowed,
  Overloaded,
  type Problem,
  UnsupportedMediaType,
} from "@punctual/api/Problem"
import { makePunctualApi } from "@punctual/api/PunctualApi"
import { requestParseOptions } from "@punctual/api/requestParseOptions"
import {
  Cause,
  Context,
  Effect,
  Exit,
  LogLevel,
  References,
  Result,
  type SchemaIssue,
  SchemaParser,
} from "effect"
import { HttpApi } from "effect/http-api"
import { WallClock } from "../ports/WallClock.ts"
import type { ApiCall, ApiHandler } from "./ApiCall.ts"
import type { Deadlines } from "./Deadlines.ts"
import { type RouteMetrics, routeMetrics } from "./HttpMetrics.ts"
import { problemResponse } from "./problemResponse.ts"
import type { BodyRead, RequestBodies } from "./RequestBody.ts"
import type { Route } from "./Route.ts"

export interface ApiRoutesOptions {
  readonly limits: Limits
  /** A handler for every endpoint of the contract, by its name, or by `group.name` where groups share one. */
  readonly handlers: { readonly [name: string]: ApiHandler<never> }
  readonly bodies: RequestBodies
  /** How long a call may wait for its answer. */
  readonly answers: Deadlines
  /** The same for calls that bound their own time, by name. */
  readonly longAnswers?: { readonly [name: string]: Deadlines }
  /** Calls that may be under way at once; more are told to come back. */
  readonly callsMax: number
  /** Why a call of this name cannot be served now, if so: the service waits, or is stopping. */
  readonly whyClosed: (name: string) => Problem | undefined
}

/** By path. */
export const makeApiRoutes = (
  options: ApiRoutesOptions,
): Effect.Effect<ReadonlyMap<string, Route>, never, WallClock> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<WallClock>()
    const routes = new Map<string, Route>()
    const calls = { underWay: 0 }
    HttpApi.reflect(makePunctualApi(options.limits), {
      onGroup: () => undefined,
      onEndpoint: ({ group, endpoint }) => {
        const withGroup = `${group.identifier}.${endpoint.identifier}`
        const name = Object.hasOwn(options.handlers, withGroup) ? withGroup : endpoint.identifier
        const handler = options.handlers[name]
        const schema = endpoint.payload.get("application/json")?.schemas[0]
        if (handler === undefined || schema === undefined) {
          throw new Error(`the endpoint ${withGroup} has no handler or no JSON body`)
        }
        const { bodyBytes, createManyBodyBytes } = options.limits
        const route = new ApiRoute(options, context, calls, {
          name,
          path: endpoint.path,
          answers: options.longAnswers?.[name] ?? options.answers,
          maxBodyBytes: name === "createMany" ? createManyBodyBytes : bodyBytes,
          // The contract's schemas need no services: they decode text that is at hand.
          decode: SchemaParser.decodeUnknownResult(
            schema as typeof schema & PureDecoder,
            requestParseOptions,
          ),
          // Each handler takes what its endpoint's own schema decodes to, which is what it is given.
          handler: handler as ApiHandler<unknown>,
        })
        routes.set(endpoint.path, route)
      },
    })
    return routes
  })

interface PureDecoder {
  readonly DecodingServices: never
}

interface Endpoint {
  readonly name: string
  readonly path: string
  readonly answers: Deadlines
  readonly maxBodyBytes: number
  readonly decode: (input: unknown) => Result.Result<unknown, SchemaIssue.Issue>
  readonly handler: ApiHandler<unknown>
}

class ApiRoute implements Route {
  readonly methods = ["POST"]
  readonly #options: ApiRoutesOptions
  readonly #endpoint: Endpoint
  /** Counted over all routes. */
  readonly #calls: { underWay: number }
  readonly #now: () => number
  readonly #run: (effect: Effect.Effect<string, Problem>) => Promise<Exit.Exit<string, Problem>>
  readonly #log: (effect: Effect.Effect<void>) => void
  readonly #metrics: RouteMetrics
  /** Asked once: even a log line that is dropped would cost every call. */
  readonly #tellsCalls: boolean

  constructor(
    options: ApiRoutesOptions,
    context: Context.Context<WallClock>,
    calls: { underWay: number },
    endpoint: Endpoint,
  ) {
    this.#options = options
    this.#endpoint = endpoint
    this.#calls = calls
    this.#now = Context.get(context, WallClock).now
    this.#run = Effect.runPromiseExitWith(context)
    this.#log = Effect.runForkWith(context)
    this.#metrics = routeMetrics(endpoint.path, context)
    this.#tellsCalls = LogLevel.isLessThanOrEqualTo(Context.get(context, References.MinimumLogLevel), "Debug")
  }

  async handle(request: Request): Promise<Response> {
    const startedAt = performance.now()
    const response = await this.#answer(request)
    this.#metrics.answered(response.status, performance.now() - startedAt)
    return response
  }

  async #answer(request: Request): Promise<Response> {
    if (request.method !== "POST") {
      const detail = `Use POST for ${this.#endpoint.path}.`
      return problemResponse(new MethodNotAllowed({ detail }), { allow: "POST" })
    }
    const { whyClosed, callsMax, bodies } = this.#options
    const closed =
      whyClosed(this.#endpoint.name) ??
      (this.#calls.underWay >= callsMax ? tooManyCalls() : whyNotJson(request))
    if (closed !== undefined) return problemResponse(closed, { closes: hasBody(request) })
    this.#calls.underWay++
    try {
      return await bodies.withBody(request, this.#endpoint.maxBodyBytes, this.#answerBody)
    } catch (error) {
      return problemResponse(this.#problemOf(Cause.die(error), undefined), { closes: true })
    } finally {
      this.#calls.underWay--
    }
  }

  readonly #answerBody = async (read: BodyRead): Promise<Response> => {
    if ("problem" in read) return problemResponse(read.problem, { closes: !read.isConsumed })
    const call = this.#decode(read.bytes)
    if (!("text" in call)) return problemResponse(call)
    const exit = await this.#endpoint.answers.within(
      this.#run(Effect.suspend(() => this.#endpoint.handler(call))),
      unanswered,
      unanswered,
    )
    const answer = Exit.isSuccess(exit) ? exit.value : this.#problemOf(exit.cause, call)
    if (this.#tellsCalls) this.#tell(call, typeof answer === "string" ? "succeeded" : answer.code)
    return typeof answer === "string" ? new Response(answer, jsonResponse) : problemResponse(answer)
  }

  /** For whoever follows one call: never its payload, and no more of it than its route and correlation. */
  #tell(call: ApiCall<unknown>, outcome: string): void {
    const annotations = { route: this.#endpoint.path, outcome, ...correlationOf(call) }
    this.#log(Effect.annotateLogs(Effect.logDebug("call answered"), annotations))
  }

  #decode(bytes: Uint8Array): ApiCall<unknown> | Problem {
    let text: string
    let input: unknown
    try {
      text = decoder.decode(bytes)
    } catch {
      return new InvalidJson({ detail: "The body is not valid UTF-8." })
    }
    try {
      input = JSON.parse(text)
    } catch (error) {
      return new InvalidJson({ detail: bytes.byteLength === 0 ? emptyBody : whyMalformed(error) })
    }
    const decoded = this.#endpoint.decode(input)
    return Result.isFailure(decoded)
      ? invalidRequest(decoded.failure)
      : { body: decoded.success, text, receivedAt: this.#now() }
  }

  /** What nobody foresaw is logged with its cause and answered without it. */
  #problemOf(cause: Cause.Cause<Problem>, call: ApiCall<unknown> | undefined): Problem {
    const failure = Cause.findError(cause)
    if (Result.isSuccess(failure)) return failure.success
    this.#log(
      Effect.logError("A call failed for an unforeseen reason.", cause).pipe(
        Effect.annotateLogs({ route: this.#endpoint.path, ...correlationOf(call) }),
      ),
    )
    return new Internal({ detail: "An unforeseen failure: the service's log has its cause." })
  }
}

const jsonResponse: ResponseInit = { headers: { "content-type": "application/json" } }

const decoder = new TextDecoder("utf-8", { fatal: true })

const emptyBody = "The body is empty; it must be a JSON object."

const whyMalformed = (error: unknown): string => {
  const reason = error instanceof Error ? error.message.replace(/^JSON Parse error: /, "") : ""
  return `The body cannot be parsed as JSON: ${reason.slice(0, 200).toWellFormed()}`
}

const correlationOf = (call: ApiCall<unknown> | undefined): { correlationId?: string } => {
  const body = call?.body
  return typeof body === "object" &&
    body !== null &&
    "correlationId" in body &&
    typeof body.correlationId === "string"
    ? { correlationId: body.correlationId }
    : {}
}

const hasBody = (request: Request): boolean =>
  request.headers.get("content-length") !== "0" || request.headers.has("transfer-encoding")

/** The store does not answer: what becomes of the call is not known, and it goes on. */
const unanswered = (): Exit.Exit<never, Problem> =>
  Exit.fail(
    new Overloaded({
      detail: "The store has not answered in time. It is not known whether this was done: repeat the call.",
      retryAfterSeconds: 5,
    }),
  )

const tooManyCalls = (): Problem =>
  new Overloaded({ detail: "Too many calls are under way: try again.", retryAfterSeconds: 1 })

const jsonMediaType = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?;?\s*$/i

const whyNotJson = (request: Request): Problem | undefined => {
  const mediaType = request.headers.get("content-type")
  if (mediaType === "application/json" || (mediaType !== null && jsonMediaType.test(mediaType)))
    return undefined
  return new UnsupportedMediaType({
    detail: "Send the body as JSON, in UTF-8, with the header content-type: application/json.",
  })
}
