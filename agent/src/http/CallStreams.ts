// The route of the stream of changes: who may read, and how many may read at once. A stream ends as soon as its caller
// would not be let in any more.
import { CallEventsQuery, resumeOverlapMs } from "@punctual/api/agent/callEventPaths"
import { parseInstant } from "@punctual/api/Instant"
import { invalidField, invalidRequest } from "@punctual/api/invalidRequest"
import { Namespace } from "@punctual/api/Namespace"
import type { Problem } from "@punctual/api/Problem"
import { requestParseOptions } from "@punctual/api/requestParseOptions"
import { anonymous } from "@punctual/door/Caller"
import { forbidden, isRefusal } from "@punctual/door/Gate"
import type { CallerCheck } from "@punctual/http/CallerCheck"
import { EventStream } from "@punctual/http/EventStream"
import type { HttpAnswer } from "@punctual/http/HttpAnswer"
import type { RouteMetrics } from "@punctual/http/HttpMetrics"
import type { HttpRequest } from "@punctual/http/HttpRequest"
import { problemResponse } from "@punctual/http/problemResponse"
import { type StreamCounts, streamHeaders, tooManyStreams } from "@punctual/http/tooManyStreams"
import { type Context, Effect, Option, Result, SchemaParser } from "effect"
import type { ServiceCalls } from "../calls/ServiceCalls.ts"
import { queryOf } from "./AgentRoutes.ts"
import { CallFeed, type FeedItem } from "./CallFeed.ts"

export interface CallStreamsOptions {
  readonly calls: ServiceCalls["Service"]
  readonly whyClosed: () => Problem | undefined
  readonly callerCheck?: CallerCheck
  readonly metrics: RouteMetrics & { readers(count: number): void }
  /** Other processes change calls, too, so the store is asked for changes. */
  readonly pollsChanges: boolean
  readonly nowMs: () => number
  readonly context: Context.Context<never>
  readonly limits?: StreamCounts & { readonly queueMax: number }
}

const defaultStreamLimits = { streamsMax: 200, perCallerMax: 20, queueMax: 500 }

/** How many changes are read when a reader resumes. */
const changesMax = 1_000

/** Callers are checked this often. Keys that end are known within half a second. */
const tickMs = 250
const pollEveryTicks = 4

interface OpenStream {
  readonly stream: EventStream<FeedItem>
  readonly request: HttpRequest
  readonly tenantId: string
  readonly callerName: string
}

export class CallStreams {
  readonly #options: CallStreamsOptions
  readonly #limits: Required<CallStreamsOptions>["limits"]
  readonly #open = new Set<OpenStream>()
  readonly #feeds = new Map<string, CallFeed>()
  #ticking: ReturnType<typeof setInterval> | undefined
  #ticks = 0

  constructor(options: CallStreamsOptions) {
    this.#options = options
    this.#limits = options.limits ?? defaultStreamLimits
  }

  readonly handle = async (
    request: HttpRequest,
    params: Readonly<Record<string, string>>,
  ): Promise<HttpAnswer> => {
    const startedMs = performance.now()
    const answer = await this.#answer(request, params["tenantId"] ?? "")
    this.#options.metrics.answered(answer.status, performance.now() - startedMs)
    return answer
  }

  /** The agent stops. */
  endAll(): void {
    for (const { stream } of [...this.#open]) stream.end()
  }

  /** The session of this cookie has ended. */
  endSession(cookie: string | null): void {
    for (const { stream, request } of [...this.#open]) {
      if (cookie !== null && request.headers.get("cookie") === cookie) stream.end()
    }
  }

  async #answer(request: HttpRequest, tenant: string): Promise<HttpAnswer> {
    const { callerCheck, whyClosed } = this.#options
    const closed = whyClosed()
    if (closed !== undefined) return problemResponse(closed)
    const caller = callerCheck?.admit(request) ?? anonymous
    if (isRefusal(caller)) return callerCheck?.refused(caller) ?? problemResponse(caller.problem)
    if (!caller.may("calls.read", tenant)) return problemResponse(forbidden("calls.read", tenant))
    const tenantId = decodeTenant(tenant)
    if (Result.isFailure(tenantId)) return problemResponse(invalidRequest(tenantId.failure, "/tenantId"))
    const after = afterOf(request)
    if (typeof after === "object") return problemResponse(after)
    const callerName = caller.keyId ?? `address ${request.addressGroup}`
    const refused = this.#whyTooMany(callerName)
    if (refused !== undefined) return problemResponse(refused)
    if (request.method === "HEAD") return { status: 200, headers: streamHeaders, body: "" }
    return this.#begin(request, tenant, callerName, after)
  }

  #begin(
    request: HttpRequest,
    tenantId: string,
    callerName: string,
    exclusiveAfter: number | undefined,
  ): HttpAnswer {
    const { signal } = request
    const feed = this.#feedOf(tenantId)
    const stream = new EventStream<FeedItem>({
      open: (onReady) => feed.open(onReady, exclusiveAfter),
      textOf: ({ text }) => text,
      nowMs: () => performance.now(),
      onSent: () => undefined,
      onEnd: () => this.#leave(opened),
    })
    const opened: OpenStream = { stream, request, tenantId, callerName }
    this.#open.add(opened)
    this.#options.metrics.readers(this.#open.size)
    this.#ticking ??= setInterval(() => this.#tick(), tickMs)
    signal.addEventListener("abort", () => stream.end(), { once: true })
    if (signal.aborted) stream.end()
    return { status: 200, headers: streamHeaders, body: stream.text() }
  }

  #feedOf(tenantId: string): CallFeed {
    const known = this.#feeds.get(tenantId)
    if (known !== undefined) return known
    const { calls, context } = this.#options
    const run = Effect.runPromiseWith(context)
    const feed = new CallFeed({
      watch: (listener) => calls.watch(tenantId, listener),
      changesAfter: (exclusiveAfter) =>
        run(
          calls
            .changesAfter(tenantId, exclusiveAfter, changesMax)
            .pipe(Effect.option, Effect.map(Option.getOrUndefined)),
        ),
      changesMax,
      queueMax: this.#limits.queueMax,
    })
    this.#feeds.set(tenantId, feed)
    return feed
  }

  #leave(opened: OpenStream): void {
    this.#open.delete(opened)
    this.#options.metrics.readers(this.#open.size)
    if (this.#feeds.get(opened.tenantId)?.isEmpty === true) this.#feeds.delete(opened.tenantId)
    if (this.#open.size > 0) return
    clearInterval(this.#ticking)
    this.#ticking = undefined
  }

  #tick(): void {
    const { callerCheck, pollsChanges, nowMs } = this.#options
    for (const { stream, request, tenantId } of [...this.#open]) {
      const caller = callerCheck?.admit(request) ?? anonymous
      if (isRefusal(caller) || !caller.may("calls.read", tenantId)) stream.end()
    }
    for (const { stream } of this.#open) stream.tick(performance.now())
    if (!pollsChanges || this.#ticks++ % pollEveryTicks !== 0) return
    for (const feed of this.#feeds.values()) void feed.poll(nowMs(), resumeOverlapMs)
  }

  #whyTooMany(callerName: string): Problem | undefined {
    const words = { place: "This process", instead: "list calls" }
    return tooManyStreams(this.#open, callerName, this.#limits, words)?.problem
  }
}

const decodeTenant = SchemaParser.decodeUnknownResult(Namespace)
const decodeEventsQuery = SchemaParser.decodeUnknownResult(CallEventsQuery, requestParseOptions)

/** The time after which a reader wants changes. Resuming repeats some, so that none is missed. */
const afterOf = ({ headers, query }: HttpRequest): number | undefined | Problem => {
  const lastId = headers.get("last-event-id")
  if (lastId !== null && lastId !== "") {
    const at = parseInstant(lastId)
    return at === undefined
      ? invalidField("/last-event-id", "must be the id of an event of this stream, which is an instant")
      : at - resumeOverlapMs
  }
  const asked = decodeEventsQuery(queryOf(query) ?? { after: "" })
  if (Result.isFailure(asked)) return invalidRequest(asked.failure)
  const { after } = asked.success
  return after === undefined ? undefined : after - resumeOverlapMs
}
