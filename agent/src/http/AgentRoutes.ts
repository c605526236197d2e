// Serves every endpoint of the agent's contract in the same way: path, method, caller, right in the tenant, limited
// body, schemas. Paths, schemas and actions come from the definition.
import "effect/schema/SchemaJITCompiler/enable"
import { type AgentEndpoint, agentEndpoints } from "@punctual/api/agent/agentEndpoints"
import { callLimits } from "@punctual/api/agent/callLimits"
import type { NeededAction } from "@punctual/api/CallTerms"
import { invalidRequest } from "@punctual/api/invalidRequest"
import {
  Forbidden,
  Internal,
  InvalidRequest,
  MethodNotAllowed,
  NotFound,
  Overloaded,
  type Problem,
  UnsupportedMediaType,
} from "@punctual/api/Problem"
import { anonymous, type Caller } from "@punctual/door/Caller"
import { forbidden, isRefusal, type Refusal } from "@punctual/door/Gate"
import { type CallerCheck, expiryHeaders } from "@punctual/http/CallerCheck"
import { Deadlines } from "@punctual/http/Deadlines"
import { type HttpAnswer, jsonAnswer } from "@punctual/http/HttpAnswer"
import { type RouteMetrics, routeMetrics } from "@punctual/http/HttpMetrics"
import { askedPortOf, type HttpRequest } from "@punctual/http/HttpRequest"
import { problemResponse } from "@punctual/http/problemResponse"
import type { BodyRead, RequestBodies } from "@punctual/http/RequestBody"
import { type RequestRead, RequestText } from "@punctual/http/RequestText"
import type { PrefixRoute } from "@punctual/http/Router"
import { Turns } from "@punctual/http/Turns"
import { Cause, type Context, Effect, Exit, Result, type SchemaIssue } from "effect"
import type { AgentRequest } from "./AgentCalls.ts"
import { agentPrefix } from "./agentNames.ts"
import { PathPattern } from "./PathPattern.ts"
import { tooLate } from "./refuseCall.ts"
import { readSubmission } from "./SubmitText.ts"

/** The work of an endpoint, and more headers of its answer. */
export interface ServedCall {
  readonly call: (asked: AgentRequest<never, never>) => Effect.Effect<unknown, Problem>
  readonly headersOf?: (answer: never) => Readonly<Record<string, string>>
}

export interface AgentRoutesOptions {
  readonly served: (endpoint: AgentEndpoint) => ServedCall
  /** A route below the same paths that is no endpoint. */
  readonly more: ReadonlyArray<{
    readonly path: string
    readonly method: string
    readonly handle: (request: HttpRequest, params: Readonly<Record<string, string>>) => Promise<HttpAnswer>
  }>
  readonly bodies: RequestBodies
  readonly callsMax: number
  readonly answerTimeoutMs: number
  readonly nowMs: () => number
  /** Why the agent cannot answer calls now; `undefined` if it can. */
  readonly whyClosed: () => Problem | undefined
  /** Who may call. If it is absent, everyone may. */
  readonly callerCheck?: CallerCheck
  readonly context: Context.Context<never>
}

interface Served {
  readonly method: string
  readonly pattern: PathPattern
  readonly handle: (request: HttpRequest, params: Readonly<Record<string, string>>) => Promise<HttpAnswer>
}

export const agentApiPath = "/api/v1/"

/** Other calls than a submission have small bodies. */
const smallBodyBytes = 64 * 1024

export const makeAgentRoutes = (options: AgentRoutesOptions): PrefixRoute => {
  const shared: SharedWork = {
    running: 0,
    // Calls that wait count as running. They must not take the places of all others.
    walks: new Turns({ atOnce: 4, waitingMax: Math.ceil(options.callsMax / 4), waitAtMostMs: 10_000 }),
    deadlines: new Deadlines(options.answerTimeoutMs),
  }
  const served: ReadonlyArray<Served> = [
    ...agentEndpoints().map((endpoint) => {
      const route = new AgentRoute(options, shared, endpoint)
      return { method: endpoint.method, pattern: new PathPattern(endpoint.path), handle: route.handle }
    }),
    ...options.more.map(({ method, path, handle }) => ({ method, pattern: new PathPattern(path), handle })),
  ]
  const unknown = routeMetrics(agentPrefix, "other", options.context)
  const handle = (request: HttpRequest): Promise<HttpAnswer> => {
    const methods: Array<string> = []
    let path: string | undefined
    for (const { method, pattern, handle } of served) {
      const params = pattern.paramsOf(request.path)
      // A literal path such as /bulk comes before a path with a parameter in its place, and hides it.
      path ??= params && pattern.path
      if (params === undefined || pattern.path !== path) continue
      if (method === request.method || (method === "GET" && request.method === "HEAD"))
        return handle(request, params)
      methods.push(...(method === "GET" ? ["GET", "HEAD"] : [method]))
    }
    const answer = methods.length === 0 ? nowhere() : otherMethod(request, [...new Set(methods)])
    unknown.answered(answer.status, 0)
    return Promise.resolve(answer)
  }
  return { prefix: agentApiPath, handle }
}

const nowhere = (): HttpAnswer => problemResponse(new NotFound({ detail: "See /docs/api for all paths." }))

const otherMethod = ({ method, path }: HttpRequest, methods: ReadonlyArray<string>): HttpAnswer => {
  const allow = [...methods, "OPTIONS"].join(", ")
  if (method === "OPTIONS") return { status: 204, headers: { allow }, body: "" }
  return problemResponse(new MethodNotAllowed({ detail: `Use ${methods.join(" or ")} for ${path}.` }), {
    allow,
  })
}

/** What all routes share. */
interface SharedWork {
  running: number
  /** Only a few calls that read many rows run at a time. */
  readonly walks: Turns
  readonly deadlines: Deadlines
}

type Params = Readonly<Record<string, string>>

class AgentRoute {
  readonly #options: AgentRoutesOptions
  readonly #shared: SharedWork
  readonly #endpoint: AgentEndpoint
  readonly #served: ServedCall
  readonly #metrics: RouteMetrics
  readonly #text = new RequestText({ itemsMax: 0 })
  readonly #run: (effect: Effect.Effect<unknown, Problem>) => Promise<Exit.Exit<unknown, Problem>>

  constructor(options: AgentRoutesOptions, shared: SharedWork, endpoint: AgentEndpoint) {
    this.#options = options
    this.#shared = shared
    this.#endpoint = endpoint
    this.#served = options.served(endpoint)
    this.#metrics = routeMetrics(agentPrefix, `${endpoint.method} ${endpoint.path}`, options.context)
    this.#run = Effect.runPromiseExitWith(options.context)
  }

  readonly handle = async (request: HttpRequest, params: Params): Promise<HttpAnswer> => {
    const startedAt = performance.now()
    const answer = await this.#answer(request, params)
    this.#metrics.answered(answer.status, performance.now() - startedAt)
    return answer
  }

  async #answer(request: HttpRequest, params: Params): Promise<HttpAnswer> {
    const { decodeBody, name } = this.#endpoint
    const closed = this.#options.whyClosed() ?? (decodeBody === undefined ? undefined : whyNotJson(request))
    if (closed !== undefined) return problemResponse(closed)
    // The right in the tenant is checked before the body is read.
    const caller = this.#admit(request, params)
    if ("status" in caller) return problemResponse(caller)
    if (isRefusal(caller)) return this.#refused(caller)
    try {
      if (decodeBody === undefined) return await this.#answerCall(request, params, caller, { input: {} })
      const maxBytes = name === "submit" ? callLimits.bodyBytes : smallBodyBytes
      const answerBody = async (read: BodyRead) => {
        if ("problem" in read) return problemResponse(read.problem)
        // A key may end while the body arrives.
        const still = request.body.arrived === undefined ? this.#admit(request, params) : caller
        if ("status" in still) return problemResponse(still)
        if (isRefusal(still)) return this.#refused(still)
        return this.#answerCall(request, params, still, await this.#read(read.bytes))
      }
      return await this.#options.bodies.withBody(request, maxBytes, answerBody)
    } catch (error) {
      return problemResponse(await this.#unexpected(Cause.die(error), request))
    }
  }

  #read(bytes: Uint8Array): RequestRead | Promise<RequestRead> {
    return this.#endpoint.name === "submit" ? readSubmission(bytes) : this.#text.read(bytes)
  }

  #admit(request: HttpRequest, params: Params): Caller | Refusal | Problem {
    const { action, needsNoKey, checksNamespaces } = this.#endpoint
    const caller = needsNoKey === true ? anonymous : (this.#options.callerCheck?.admit(request) ?? anonymous)
    if (isRefusal(caller) || action === "none") return caller
    const { tenantId } = params
    if (checksNamespaces === true) return caller.mayAnywhere(action) ? caller : inNoTenant(action)
    return caller.may(action, tenantId) ? caller : forbidden(action, tenantId)
  }

  async #refused(refusal: Refusal): Promise<HttpAnswer> {
    return this.#options.callerCheck?.refused(refusal) ?? problemResponse(refusal.problem)
  }

  async #answerCall(
    request: HttpRequest,
    params: Params,
    caller: Caller,
    read: RequestRead,
  ): Promise<HttpAnswer> {
    if (this.#shared.running >= this.#options.callsMax) return problemResponse(tooManyCalls())
    this.#shared.running++
    try {
      const asked = this.#decode(request, params, caller, read)
      if (!("caller" in asked)) return problemResponse(asked)
      const work = () => this.#answerAsked(request, asked)
      return this.#endpoint.takesTurns === true
        ? await this.#shared.walks.run(request.addressGroup, work, () => problemResponse(tooManyCalls()))
        : await work()
    } finally {
      this.#shared.running--
    }
  }

  async #answerAsked(request: HttpRequest, asked: AgentRequest): Promise<HttpAnswer> {
    const { action, encode, status, needsNoKey } = this.#endpoint
    const late = () => Exit.fail(tooLate(action))
    const exit = await this.#shared.deadlines.within(
      // Each call gets the request that its own schemas decoded.
      this.#run(Effect.suspend(() => this.#served.call(asked as AgentRequest<never, never>))),
      late,
      late,
    )
    if (Exit.isFailure(exit)) {
      const problem = await this.#problemOf(exit.cause, request)
      if (needsNoKey === true && problem.code === "unauthorized")
        await this.#options.callerCheck?.wrongKeyInBody(request)
      return problemResponse(problem)
    }
    const answer = jsonAnswer(JSON.stringify(encode(exit.value)), status)
    const more =
      // The same call made the value.
      this.#served.headersOf?.(exit.value as never) ?? expiryHeaders(asked.caller, asked.receivedAt)
    return more === undefined ? answer : { ...answer, headers: { ...answer.headers, ...more } }
  }

  #decode(request: HttpRequest, params: Params, caller: Caller, read: RequestRead): AgentRequest | Problem {
    if ("problem" in read) return read.problem
    const { decodeParams, decodeQuery, decodeBody, decodeHeaders } = this.#endpoint
    const query = queryOf(request.query)
    if (query === undefined) return twice()
    const decoded = {
      params: decodeParams?.(params) ?? empty,
      query: decodeQuery?.(query) ?? empty,
      body: decodeBody?.(read.input) ?? empty,
      headers: decodeHeaders?.(this.#headersOf(request)) ?? empty,
    }
    for (const part of Object.values(decoded)) {
      if (Result.isFailure(part)) return invalidRequest(part.failure)
    }
    return {
      // None of them is a failure.
      params: Result.getOrThrow(decoded.params) as AgentRequest["params"],
      query: Result.getOrThrow(decoded.query),
      body: Result.getOrThrow(decoded.body),
      headers: Result.getOrThrow(decoded.headers) as AgentRequest["headers"],
      caller,
      receivedAt: this.#options.nowMs(),
      requestId: request.requestId,
      isSecure: request.isSecure,
      port: askedPortOf(request),
    }
  }

  #headersOf({ headers }: HttpRequest): Readonly<Record<string, string>> {
    const given = this.#endpoint.headerNames.flatMap((name) => {
      const value = headers.get(name)
      return value === null ? [] : [[name, value] as const]
    })
    return Object.fromEntries(given)
  }

  async #problemOf(cause: Cause.Cause<Problem>, request: HttpRequest): Promise<Problem> {
    const failure = Cause.findError(cause)
    return Result.isSuccess(failure) ? failure.success : this.#unexpected(cause, request)
  }

  /** The cause is logged. The answer does not contain it. */
  async #unexpected(cause: Cause.Cause<unknown>, { requestId }: HttpRequest): Promise<Problem> {
    await this.#run(
      Effect.logError("A call failed with an unexpected error.", cause).pipe(
        Effect.annotateLogs({ route: this.#endpoint.path, requestId }),
      ),
    )
    return new Internal({ detail: "An unexpected error. The log of the agent has the cause." })
  }
}

const empty: Result.Result<unknown, SchemaIssue.Issue> = Result.succeed({})

/** The parameters of a query; `undefined` if one is given twice. */
export const queryOf = (query: string): Readonly<Record<string, string>> | undefined => {
  const params = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(query)) {
    if (params.has(name)) return undefined
    params.set(name, value)
  }
  return Object.fromEntries(params)
}

const twice = (): Problem => {
  const detail = "The query has a parameter twice: give each parameter once."
  return new InvalidRequest({ detail, errors: [{ pointer: "", detail }] })
}

const inNoTenant = (action: NeededAction): Problem =>
  new Forbidden({ detail: `The key needs the action ${action} in at least one tenant.` })

const tooManyCalls = (): Problem =>
  new Overloaded({
    detail: "Too many calls are running. This limit is fixed. Nothing was written: retry.",
    retryAfterSeconds: 1,
    written: "no",
  })

const jsonMediaType = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?;?\s*$/i

/** A longer one is not JSON. The limit keeps the expression quick. */
const mediaTypeCharsMax = 100

const whyNotJson = ({ headers }: HttpRequest): Problem | undefined => {
  const mediaType = headers.get("content-type")
  const isJson = mediaType !== null && mediaType.length <= mediaTypeCharsMax && jsonMediaType.test(mediaType)
  return isJson
    ? undefined
    : new UnsupportedMediaType({
        detail: "Send the body as JSON, in UTF-8, with the header content-type: application/json.",
      })
}
