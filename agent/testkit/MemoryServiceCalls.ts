// Service calls in memory, for tests of HTTP alone. It keeps the promises of the interface that HTTP relies on: tenants
// are apart, versions grow, a repeat is recognised. Nothing is ever called.
import { Effect } from "effect"
import {
  CallConflict,
  type CallCounts,
  type CallEvent,
  type CallFilter,
  CallNotFound,
  type NewServiceCall,
  type ServiceCalls,
} from "../src/calls/ServiceCalls.ts"
import { type CallState, callStates, type RequestSpec, type ServiceCall } from "../src/domain/ServiceCall.ts"
import { defaultTenantSettings } from "../src/domain/TenantSettings.ts"

interface Stored {
  readonly call: ServiceCall
  readonly request: RequestSpec
}

const notFound = new CallNotFound({ message: "The tenant has no service call with this id." })

export class MemoryServiceCalls {
  readonly #nowMs: () => number
  readonly #stored = new Map<string, Stored>()
  readonly #events: Array<CallEvent> = []
  readonly #listeners = new Map<string, Set<(event: CallEvent) => void>>()
  /** The last request that was submitted. */
  submitted: NewServiceCall | undefined
  #made = 0

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Changes a call as the rest of the agent would do it. */
  change(tenantId: string, serviceCallId: string, changes: Partial<ServiceCall>): ServiceCall {
    const stored = this.#stored.get(keyOf(tenantId, serviceCallId))
    if (stored === undefined) throw new Error(`there is no call ${serviceCallId}`)
    return this.#store({ ...stored.call, ...changes, version: stored.call.version + 1 }, stored.request)
  }

  /** How many listeners a tenant has. */
  listeners(tenantId: string): number {
    return this.#listeners.get(tenantId)?.size ?? 0
  }

  readonly service: ServiceCalls["Service"] = {
    submit: (asked) => Effect.suspend(() => this.#submit(asked)),
    get: (tenantId, serviceCallId) =>
      Effect.map(this.#find(tenantId, serviceCallId), ({ call, request }) => ({
        call,
        request,
        timeline: [
          { at: call.submittedAt, version: 1, what: "SubmitServiceCall", state: "Submitted" as const },
        ],
      })),
    find: (tenantId, serviceCallId) => Effect.map(this.#find(tenantId, serviceCallId), ({ call }) => call),
    settings: () => Effect.succeed(defaultTenantSettings),
    putSettings: () => Effect.void,
    tenants: ({ inclusiveFrom, exclusiveUntil }, limit) =>
      Effect.sync(() => {
        const names = new Set([...this.#stored.values()].map(({ call }) => call.tenantId))
        return [...names]
          .sort()
          .filter((name) => name >= inclusiveFrom && name < exclusiveUntil)
          .slice(0, limit)
      }),
    list: (tenantId, { cursor = "0", limit, isAscending, ...filter }) =>
      Effect.sync(() => {
        const matching = this.#matching(tenantId, filter)
        const ordered = isAscending ? matching : matching.toReversed()
        const end = Number(cursor) + limit
        return {
          calls: ordered.slice(Number(cursor), end),
          ...(end < ordered.length ? { nextCursor: String(end) } : {}),
        }
      }),
    counts: (tenantId, filter) => Effect.sync(() => countsOf(this.#matching(tenantId, filter))),
    cancel: (tenantId, serviceCallId) =>
      Effect.flatMap(this.#find(tenantId, serviceCallId), ({ call }) =>
        call.state === "Submitted" || call.state === "Scheduled"
          ? Effect.sync(() => this.change(tenantId, serviceCallId, { state: "Cancelled" }))
          : wrongState(call),
      ),
    reschedule: (tenantId, serviceCallId, dueAt) =>
      Effect.flatMap(this.#find(tenantId, serviceCallId), ({ call }) =>
        call.state === "Scheduled"
          ? Effect.sync(() => this.change(tenantId, serviceCallId, { dueAt }))
          : wrongState(call),
      ),
    runAgain: (tenantId, serviceCallId, changes) =>
      Effect.flatMap(this.#find(tenantId, serviceCallId), ({ call: { name, tags }, request }) =>
        this.#submit({ tenantId, name, tags, request, ...changes }),
      ),
    annotate: (tenantId, serviceCallId, changes) =>
      Effect.map(this.#find(tenantId, serviceCallId), () => this.change(tenantId, serviceCallId, changes)),
    changesAfter: (tenantId, exclusiveAfter, limit) =>
      Effect.sync(() =>
        this.#events
          .filter(({ at, call }) => call.tenantId === tenantId && at > exclusiveAfter)
          .slice(0, limit),
      ),
    watch: (tenantId, listener) => {
      const listeners = this.#listeners.get(tenantId) ?? new Set()
      this.#listeners.set(tenantId, listeners.add(listener))
      return () => listeners.delete(listener)
    },
  }

  #find(tenantId: string, serviceCallId: string): Effect.Effect<Stored, CallNotFound> {
    return Effect.suspend(() => {
      const stored = this.#stored.get(keyOf(tenantId, serviceCallId))
      return stored === undefined ? Effect.fail(notFound) : Effect.succeed(stored)
    })
  }

  #submit(asked: NewServiceCall): Effect.Effect<{ call: ServiceCall; isNew: boolean }, CallConflict> {
    this.submitted = asked
    const serviceCallId = asked.serviceCallId ?? `made-${asked.idempotencyKey ?? ++this.#made}`
    const known = this.#stored.get(keyOf(asked.tenantId, serviceCallId))
    if (known !== undefined) {
      return JSON.stringify(known.request) === JSON.stringify(asked.request)
        ? Effect.succeed({ call: known.call, isNew: false })
        : Effect.fail(new CallConflict({ message: "It exists with another request.", code: "callExists" }))
    }
    const nowMs = this.#nowMs()
    const url = new URL(asked.request.url)
    const call: ServiceCall = {
      tenantId: asked.tenantId,
      serviceCallId,
      version: 1,
      state: asked.dueAt === undefined ? "Submitted" : "Scheduled",
      name: asked.name,
      tags: asked.tags,
      isStarred: false,
      method: asked.request.method,
      host: url.host,
      shownUrl: `${url.origin}${url.pathname}`,
      correlationId: asked.correlationId ?? "made",
      submittedAt: nowMs,
      dueAt: asked.dueAt ?? nowMs,
      dueTimes: 1,
      scheduledAtMs: nowMs,
    }
    return Effect.succeed({ call: this.#store(call, asked.request), isNew: true })
  }

  #store(call: ServiceCall, request: RequestSpec): ServiceCall {
    const event = { at: this.#nowMs(), call }
    this.#stored.set(keyOf(call.tenantId, call.serviceCallId), { call, request })
    this.#events.push(event)
    for (const listener of this.#listeners.get(call.tenantId) ?? []) listener(event)
    return call
  }

  #matching(tenantId: string, filter: CallFilter): Array<ServiceCall> {
    return [...this.#stored.values()]
      .map(({ call }) => call)
      .filter(
        (call) =>
          call.tenantId === tenantId &&
          (filter.states?.includes(call.state) ?? true) &&
          (filter.tag === undefined || call.tags.includes(filter.tag)) &&
          (filter.isStarred === undefined || call.isStarred === filter.isStarred) &&
          (filter.host === undefined || call.host === filter.host),
      )
  }
}

/** A namespace has no slash. */
const keyOf = (tenantId: string, serviceCallId: string): string => `${tenantId}/${serviceCallId}`

const wrongState = ({ state }: ServiceCall): Effect.Effect<never, CallConflict> =>
  Effect.fail(new CallConflict({ message: `The call is ${state}.`, code: "callState" }))

const countsOf = (calls: ReadonlyArray<ServiceCall>): CallCounts => {
  const counts = Object.fromEntries(callStates.map((state) => [state, 0])) as Record<CallState, number>
  for (const { state } of calls) counts[state]++
  return { counts, isCapped: false }
}
