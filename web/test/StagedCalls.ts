// Service calls in memory for tests of pages, for what the whole agent cannot show on demand: a clock that the test moves,
// exact latencies and times, answers with secrets or of any size, time-outs, and targets with any name, which must not be
// called. All other tests of pages run on the whole agent (LiveCalls.ts).
import { Effect } from "effect"
import type {
  CallFilter,
  CallQuery,
  NewServiceCall,
  ServiceCalls,
} from "../../agent/src/calls/ServiceCalls.ts"
import {
  type CallState,
  callStates,
  type ErrorMeta,
  type RequestSpec,
  type ResponseMeta,
  type ServiceCall,
  type TimelineEntry,
} from "../../agent/src/domain/ServiceCall.ts"
import { MemoryServiceCalls } from "../../agent/testkit/MemoryServiceCalls.ts"

export interface StagedRequest extends Partial<Omit<NewServiceCall, "request" | "dueAt">> {
  readonly request?: Partial<RequestSpec>
  /** From now. Absent: due at once. */
  readonly inMs?: number
}

export class StagedCalls {
  readonly #memory: MemoryServiceCalls
  readonly #nowMs: () => number
  readonly #timelines = new Map<string, Array<TimelineEntry>>()
  #messages = 0

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs
    this.#memory = new MemoryServiceCalls(nowMs)
  }

  get service(): ServiceCalls["Service"] {
    const { service } = this.#memory
    const noted = (what: string) => (call: ServiceCall) => Effect.sync(() => this.#note(call, what))
    return {
      ...service,
      submit: (asked) =>
        Effect.tap(service.submit(asked), ({ call, isNew }) =>
          Effect.sync(() => void (isNew && this.#begin(call))),
        ),
      runAgain: (tenantId, id, changes) =>
        Effect.tap(service.runAgain(tenantId, id, changes), ({ call }) =>
          Effect.sync(() => this.#begin(call)),
        ),
      cancel: (tenantId, id) => Effect.tap(service.cancel(tenantId, id), noted("Cancelled")),
      reschedule: (tenantId, id, dueAt) =>
        Effect.tap(service.reschedule(tenantId, id, dueAt), noted("Rescheduled")),
      get: (tenantId, id) =>
        Effect.map(service.get(tenantId, id), (detail) => ({
          ...detail,
          timeline: this.#timelines.get(`${tenantId}/${id}`) ?? [],
        })),
      list: (tenantId, query) => Effect.map(this.#all(tenantId), (calls) => pageOf(calls, query)),
      counts: (tenantId, filter) =>
        Effect.map(this.#all(tenantId), (calls) => {
          const counts = Object.fromEntries(callStates.map((state) => [state, 0])) as Record<
            CallState,
            number
          >
          for (const call of calls) if (matches(call, filter)) counts[call.state]++
          return { counts, isCapped: false }
        }),
    }
  }

  /** Submits a call of the tenant `shop`, unless it names another. Returns its id. */
  async submit({ inMs, request, ...asked }: StagedRequest): Promise<string> {
    const { call } = await Effect.runPromise(
      this.service.submit({
        tenantId: "shop",
        name: "A call",
        tags: [],
        ...asked,
        request: { method: "GET", url: "http://api.example.com/orders", ...request },
        ...(inMs === undefined ? {} : { dueAt: this.#nowMs() + inMs }),
      }),
    )
    return call.serviceCallId
  }

  /** The due time is reached, and the request is sent. */
  run(id: string, tenantId = "shop"): void {
    const atMs = this.#nowMs()
    const attempt = { attemptId: `attempt-of-${id}`, runningAt: atMs, startedAt: atMs }
    this.#step(tenantId, id, "DueTimeReached", { state: "Running", ...attempt })
  }

  succeed(id: string, response: Partial<ResponseMeta> = {}, tenantId = "shop"): void {
    this.#step(tenantId, id, "ExecutionSucceeded", {
      state: "Succeeded",
      finishedAt: this.#nowMs(),
      response: { ...usualAnswer, ...response },
    })
  }

  fail(id: string, error: ErrorMeta, tenantId = "shop"): void {
    this.#step(tenantId, id, "ExecutionFailed", {
      state: "Failed",
      finishedAt: this.#nowMs(),
      error,
      ...(error.response === undefined ? {} : { response: error.response }),
    })
  }

  change(id: string, changes: Partial<ServiceCall>, tenantId = "shop"): void {
    this.#memory.change(tenantId, id, changes)
  }

  /** The last request that the pages submitted. */
  get submitted(): NewServiceCall | undefined {
    return this.#memory.submitted
  }

  listeners(tenantId: string): number {
    return this.#memory.listeners(tenantId)
  }

  #step(tenantId: string, id: string, what: string, changes: Partial<ServiceCall>): void {
    // The pages read the timeline when they hear of the change, so it comes first.
    const key = `${tenantId}/${id}`
    const before = this.#timelines.get(key) ?? []
    this.#add(key, what, changes.state ?? "Submitted", (before.at(-1)?.version ?? 0) + 1)
    this.#memory.change(tenantId, id, changes)
  }

  /** The submission is stored, and then handled if the call is due later. */
  #begin(call: ServiceCall): void {
    const { tenantId, serviceCallId, version } = call
    const entry = { at: this.#nowMs(), version, what: "Submitted", state: "Submitted" } as const
    this.#timelines.set(`${tenantId}/${serviceCallId}`, [entry])
    if (call.state === "Scheduled") this.#note(call, "SubmitServiceCall")
  }

  #note({ tenantId, serviceCallId, state, version }: ServiceCall, what: string): void {
    this.#add(`${tenantId}/${serviceCallId}`, what, state, version)
  }

  #add(key: string, what: string, state: CallState, version: number): void {
    const entries = this.#timelines.get(key) ?? []
    const cause = entries.at(-1)?.messageId
    entries.push({
      at: this.#nowMs(),
      version,
      what,
      state,
      messageId: `01970000-0000-7000-8000-${String(++this.#messages).padStart(12, "0")}`,
      // The Timer knows no message that caused it.
      ...(cause === undefined || what === "DueTimeReached" ? {} : { causationId: cause }),
    })
    this.#timelines.set(key, entries)
  }

  #all(tenantId: string): Effect.Effect<ReadonlyArray<ServiceCall>> {
    const query: CallQuery = { order: "submitted", isAscending: true, limit: 1_000_000 }
    return Effect.orDie(Effect.map(this.#memory.service.list(tenantId, query), ({ calls }) => calls))
  }
}

const usualAnswer: ResponseMeta = {
  status: 200,
  headers: { "content-type": "application/json" },
  bodySnippet: '{"ok":true}',
  latencyMs: 121,
}

const matches = (call: ServiceCall, filter: CallFilter): boolean =>
  (filter.states?.includes(call.state) ?? true) &&
  (filter.tag === undefined || call.tags.includes(filter.tag)) &&
  (filter.isStarred === undefined || call.isStarred === filter.isStarred) &&
  (filter.name === undefined || call.name.toLowerCase().includes(filter.name.toLowerCase())) &&
  (filter.method === undefined || call.method === filter.method) &&
  (filter.host === undefined || call.host === filter.host) &&
  (filter.inclusiveFrom === undefined || call.dueAt >= filter.inclusiveFrom) &&
  (filter.exclusiveUntil === undefined || call.dueAt < filter.exclusiveUntil)

/** The position of the page is the cursor. */
const pageOf = (calls: ReadonlyArray<ServiceCall>, query: CallQuery) => {
  const { order, isAscending, cursor = "0", limit } = query
  // Calls of the same millisecond keep the order in which they were submitted.
  const sorted = calls
    .filter((call) => matches(call, query))
    .sort((one, other) => (order === "due" ? one.dueAt - other.dueAt : one.submittedAt - other.submittedAt))
  const ordered = isAscending ? sorted : sorted.toReversed()
  const end = Number(cursor) + limit
  return {
    calls: ordered.slice(Number(cursor), end),
    ...(end < ordered.length ? { nextCursor: String(end) } : {}),
  }
}
