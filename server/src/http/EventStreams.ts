// The route of the event stream: who may read what, and how many may read at once. A stream ends as soon as its caller
// would not be let in any more.

import { invalidRequest } from "@punctual/api/invalidRequest"
import { MethodNotAllowed, type Problem } from "@punctual/api/Problem"
import { requestParseOptions } from "@punctual/api/requestParseOptions"
import { StreamEvents } from "@punctual/api/TimerEvents"
import { anonymous, type Caller } from "@punctual/door/Caller"
import { isRefusal } from "@punctual/door/Gate"
import type { CallerCheck } from "@punctual/http/CallerCheck"
import { EventStream } from "@punctual/http/EventStream"
import type { HttpAnswer } from "@punctual/http/HttpAnswer"
import type { RouteMetrics } from "@punctual/http/HttpMetrics"
import type { HttpRequest } from "@punctual/http/HttpRequest"
import { problemResponse } from "@punctual/http/problemResponse"
import type { Route } from "@punctual/http/Route"
import { type StreamCounts, streamHeaders, tooManyStreams } from "@punctual/http/tooManyStreams"
import { Result, SchemaParser } from "effect"
import { narrowedTo } from "../calls/narrowedTo.ts"
import { wantedNamespaces } from "../calls/wantedNamespaces.ts"
import { whyForbidden } from "../calls/whyForbidden.ts"
import type { TimerEvent } from "../domain/TimerEvent.ts"
import type { EventHub } from "../engine/events/EventHub.ts"
import type { ReaderItem } from "../engine/events/EventReader.ts"
import type { EventStreamMetrics } from "./EventStreamMetrics.ts"
import { eventText } from "./eventText.ts"

export interface EventStreamsOptions {
  readonly hub: Pick<EventHub, "open" | "tick" | "nowMs">
  /** Why the service cannot answer calls now. */
  readonly whyClosed: () => Problem | undefined
  /** Who may call. If it is absent, everyone may. */
  readonly callerCheck?: CallerCheck
  readonly metrics: RouteMetrics & EventStreamMetrics
  readonly limits?: StreamCounts
}

const defaultLimits: StreamCounts = { streamsMax: 200, perCallerMax: 20 }

/** Callers are checked this often. Keys that end are known within half a second. */
const tickMs = 250

interface OpenStream {
  readonly stream: EventStream<ReaderItem>
  readonly request: HttpRequest
  readonly callerName: string
}

export class EventStreams implements Route {
  readonly methods = ["GET"]
  readonly #options: EventStreamsOptions
  readonly #limits: StreamCounts
  readonly #open = new Set<OpenStream>()
  #ticking: ReturnType<typeof setInterval> | undefined

  constructor(options: EventStreamsOptions) {
    this.#options = options
    this.#limits = options.limits ?? defaultLimits
  }

  async handle(request: HttpRequest): Promise<HttpAnswer> {
    const startedMs = performance.now()
    const answer = await this.#answer(request)
    this.#options.metrics.answered(answer.status, performance.now() - startedMs)
    return answer
  }

  /** The service stops, so every reader should go to another node. */
  endAll(): void {
    for (const { stream } of [...this.#open]) stream.end()
  }

  /** The session of this cookie has ended. */
  endSession(cookie: string | null): void {
    for (const { stream, request } of [...this.#open]) {
      if (cookie !== null && request.headers.get("cookie") === cookie) stream.end()
    }
  }

  async #answer(request: HttpRequest): Promise<HttpAnswer> {
    if (request.method !== "GET") {
      const detail = `Use GET for ${request.path}.`
      return problemResponse(new MethodNotAllowed({ detail }), { allow: "GET" })
    }
    const { callerCheck, whyClosed } = this.#options
    const closed = whyClosed()
    if (closed !== undefined) return problemResponse(closed)
    const caller = callerCheck?.admit(request) ?? anonymous
    if (isRefusal(caller)) return callerCheck?.refused(caller) ?? problemResponse(caller.problem)
    const asked = decodeQuery(paramsOf(request.query), requestParseOptions)
    if (Result.isFailure(asked)) return problemResponse(invalidRequest(asked.failure))
    const wanted = narrowedTo(caller, neededFor(asked.success), asked.success)
    const forbidden = whyForbidden(neededFor(wanted), wanted, caller)
    if (forbidden !== undefined) return problemResponse(forbidden)
    const callerName = caller.keyId ?? `address ${request.addressGroup}`
    const refused = this.#whyTooMany(callerName)
    if (refused !== undefined) return problemResponse(refused)
    return this.#begin(request, callerName, wantedBy(caller, wanted))
  }

  #begin(request: HttpRequest, callerName: string, wants: (event: TimerEvent) => boolean): HttpAnswer {
    const { hub, metrics } = this.#options
    const { signal } = request
    const stream = new EventStream({
      open: (onReady) => hub.open({ wants, onReady }, request.headers.get("last-event-id") || undefined),
      nowMs: hub.nowMs,
      textOf: eventText,
      onSent: metrics.sent,
      onEnd: () => this.#leave(opened),
    })
    const opened: OpenStream = { stream, request, callerName }
    this.#open.add(opened)
    metrics.readers(this.#open.size)
    this.#ticking ??= setInterval(() => this.#tick(), tickMs)
    signal.addEventListener("abort", () => stream.end(), { once: true })
    if (signal.aborted) stream.end()
    return { status: 200, headers: streamHeaders, body: stream.text() }
  }

  #leave(opened: OpenStream): void {
    this.#open.delete(opened)
    this.#options.metrics.readers(this.#open.size)
    if (this.#open.size > 0) return
    clearInterval(this.#ticking)
    this.#ticking = undefined
  }

  #tick(): void {
    const { hub, callerCheck } = this.#options
    for (const { stream, request } of [...this.#open]) {
      const caller = callerCheck?.admit(request) ?? anonymous
      if (isRefusal(caller)) stream.end()
    }
    hub.tick()
    for (const { stream } of this.#open) stream.tick(hub.nowMs())
  }

  #whyTooMany(callerName: string): Problem | undefined {
    const words = { place: "This node", instead: "list timers" }
    const tooMany = tooManyStreams(this.#open, callerName, this.#limits, words)
    if (tooMany !== undefined) this.#options.metrics.refused(tooMany.of)
    return tooMany?.problem
  }
}

const decodeQuery = SchemaParser.decodeUnknownResult(StreamEvents)

/** More values than any valid query has. The schema refuses so many. */
const valuesMax = 1_000

/** Each parameter is a list. A parameter that is given twice is one list. */
const paramsOf = (query: string): Readonly<Record<string, ReadonlyArray<string>>> => {
  const params = new Map<string, Array<string>>()
  let left = valuesMax
  for (const [name, value] of new URLSearchParams(query)) {
    const values = value.split(",", left)
    left -= values.length
    const known = params.get(name)
    if (known === undefined) params.set(name, values)
    else known.push(...values)
    if (left <= 0) break
  }
  return Object.fromEntries(params)
}

/** Without namespaces, a reader gets the events of those that it may read. */
const neededFor = ({ namespaces }: StreamEvents) =>
  namespaces === undefined
    ? ({ action: "timers.read", checksNamespaces: true } as const)
    : ({ action: "timers.read" } as const)

const wantedBy = (caller: Caller, { namespaces, types }: StreamEvents): ((event: TimerEvent) => boolean) => {
  const wantedTypes = types === undefined ? undefined : new Set<string>(types)
  const isWanted = wantedNamespaces(caller, namespaces)
  return ({ type, namespace }) => (wantedTypes === undefined || wantedTypes.has(type)) && isWanted(namespace)
}
