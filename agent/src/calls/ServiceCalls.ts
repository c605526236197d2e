// What users do with service calls: the application's own interface, below HTTP and above the store. HTTP translates
// it; tests and the demo call it directly. Every function takes the tenant first and never shows another tenant's calls.
import { Context, type Effect, Schema } from "effect"
import type { CallState, RequestSpec, ServiceCall, TimelineEntry } from "../domain/ServiceCall.ts"
import type { TenantRange, TenantSettings } from "../domain/TenantSettings.ts"

export interface NewServiceCall {
  readonly tenantId: string
  /** Made if absent: from the idempotency key, or else at random. At most 240 bytes, without `~`. */
  readonly serviceCallId?: string
  readonly idempotencyKey?: string
  readonly name: string
  /** Absent means now. */
  readonly dueAt?: number
  readonly request: RequestSpec
  readonly tags: ReadonlyArray<string>
  readonly correlationId?: string
}

export interface CallFilter {
  readonly states?: ReadonlyArray<CallState>
  readonly tag?: string
  readonly isStarred?: boolean
  /** A part of the name, in any case. */
  readonly name?: string
  readonly method?: string
  readonly host?: string
  /** The due time is at or after this. */
  readonly inclusiveFrom?: number
  /** The due time is before this. */
  readonly exclusiveUntil?: number
}

export interface CallQuery extends CallFilter {
  /** By due time or by submission; newest first unless `isAscending`. */
  readonly order: "due" | "submitted"
  readonly isAscending: boolean
  readonly cursor?: string
  readonly limit: number
}

export interface CallPage {
  readonly calls: ReadonlyArray<ServiceCall>
  readonly nextCursor?: string
}

/** By state. `isCapped`: there are more; counting stopped at the bound. */
export interface CallCounts {
  readonly counts: Readonly<Record<CallState, number>>
  readonly isCapped: boolean
}

export interface CallDetail {
  readonly call: ServiceCall
  /** Redacted. */
  readonly request: RequestSpec
  readonly timeline: ReadonlyArray<TimelineEntry>
}

/** A call that was submitted. `isNew` is false if the same request was submitted before. */
export interface CallSubmission {
  readonly call: ServiceCall
  readonly isNew: boolean
}

export interface CallAnnotation {
  readonly name?: string
  readonly tags?: ReadonlyArray<string>
  readonly isStarred?: boolean
}

/** There is no such call in this tenant. */
export class CallNotFound extends Schema.TaggedError<CallNotFound>()("CallNotFound", {
  message: Schema.String,
}) {}

/** The call exists with another request, or is in a state in which this cannot be done. */
export class CallConflict extends Schema.TaggedError<CallConflict>()("CallConflict", {
  message: Schema.String,
  code: Schema.Literals(["callExists", "callState"]),
}) {}

/** The request is refused: the egress rules, a bad URL, a limit. Nothing was written. */
export class CallRefused extends Schema.TaggedError<CallRefused>()("CallRefused", {
  message: Schema.String,
  code: Schema.Literals(["invalidRequest", "egressRefused", "quotaExceeded"]),
  /** The field that is wrong, if it is one. Then the message is what follows its name. */
  field: Schema.optionalKey(Schema.String),
}) {}

/** The store did not answer. If the call writes, its result is unknown. */
export class StoreUnavailable extends Schema.TaggedError<StoreUnavailable>()("StoreUnavailable", {
  message: Schema.String,
}) {}

/** One change of a call, for open pages. */
export interface CallEvent {
  /** When it was stored. Resuming from a time repeats the last 10 s. */
  readonly at: number
  readonly call: ServiceCall
}

export class ServiceCalls extends Context.Service<
  ServiceCalls,
  {
    submit(
      asked: NewServiceCall,
    ): Effect.Effect<CallSubmission, CallConflict | CallRefused | StoreUnavailable>
    /** The call alone, without its contents. */
    find(tenantId: string, serviceCallId: string): Effect.Effect<ServiceCall, CallNotFound | StoreUnavailable>
    get(tenantId: string, serviceCallId: string): Effect.Effect<CallDetail, CallNotFound | StoreUnavailable>
    list(tenantId: string, query: CallQuery): Effect.Effect<CallPage, CallRefused | StoreUnavailable>
    counts(tenantId: string, filter: CallFilter): Effect.Effect<CallCounts, StoreUnavailable>
    cancel(
      tenantId: string,
      serviceCallId: string,
    ): Effect.Effect<ServiceCall, CallNotFound | CallConflict | StoreUnavailable>
    reschedule(
      tenantId: string,
      serviceCallId: string,
      dueAt: number,
    ): Effect.Effect<ServiceCall, CallNotFound | CallConflict | CallRefused | StoreUnavailable>
    /** Submits the same request as a new call. */
    runAgain(
      tenantId: string,
      serviceCallId: string,
      changes: Pick<NewServiceCall, "dueAt" | "serviceCallId" | "idempotencyKey" | "correlationId">,
    ): Effect.Effect<CallSubmission, CallNotFound | CallConflict | CallRefused | StoreUnavailable>
    annotate(
      tenantId: string,
      serviceCallId: string,
      changes: CallAnnotation,
    ): Effect.Effect<ServiceCall, CallNotFound | CallRefused | StoreUnavailable>
    settings(tenantId: string): Effect.Effect<TenantSettings, StoreUnavailable>
    /** Replaces all settings of the tenant. */
    putSettings(tenantId: string, settings: TenantSettings): Effect.Effect<void, StoreUnavailable>
    /** The first tenants of a range that have calls, sorted by name. The caller decides who may see them. */
    tenants(range: TenantRange, limit: number): Effect.Effect<ReadonlyArray<string>, StoreUnavailable>
    /** Changes of the tenant's calls after a time, oldest first, at most `limit`. */
    changesAfter(
      tenantId: string,
      exclusiveAfter: number,
      limit: number,
    ): Effect.Effect<ReadonlyArray<CallEvent>, StoreUnavailable>
    /** The listener gets every change of the tenant's calls that this process knows of. Returns how to stop. */
    watch(tenantId: string, listener: (event: CallEvent) => void): () => void
  }
>()("punctual/agent/ServiceCalls") {}
