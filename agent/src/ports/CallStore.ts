// Where the agent keeps service calls, their timelines, the messages that are not published yet, and attempts.
//
// Laws, which testkit/CallStore.suite.ts checks for every adapter:
//  - Atomicity: a change of a call, its lines of the timeline and its messages are stored together or not at all. The
//    same holds for a step of an attempt and its message.
//  - Durability: an answered write survives a kill of the process. A failed write has an unknown result.
//  - Expectation: a commit names the version that it replaces. If the call has another version, nothing changes and the
//    answer is false. So of two changes that were decided from the same version, one succeeds.
//  - Submission: a call is inserted once. If its id exists, nothing changes and the answer is the stored record.
//  - Order: `outboxOf` returns the messages of a call in the order of the call's versions, and within a change in the
//    order given. Messages of attempts have an order of their own. A message stays until it is removed.
//  - Holding: of several processes, only one at a time holds a call's messages. Holding a call does not block changes
//    of the call, because a handler may change it while its message is being published.
//  - Fairness: `outboxHeads` goes through the tenants in turn, so a tenant with many messages hides no other.
//  - Attempts: an attempt goes from claimed to calling to ended, each step once. Only one process can take a step.
//    `calling` also needs a call that is Running with this attempt.
//  - Tenancy: every read that names a tenant sees this tenant's rows only.
//  - Settings: the settings of a tenant are read as they were written last, also with the details of its calls.
//  - Bounds: lists, counts and batches stop at their limits. A list may return fewer calls than asked for, and still
//    have a cursor, because it reads a limited number of rows. Lists and changes contain no bodies of answers.
import { Context, type Effect, Schema, type Scope } from "effect"
import type { CallChange } from "../domain/CallChange.ts"
import type { CallRecord } from "../domain/CallRecord.ts"
import type { OutboxMessage } from "../domain/OutboxMessage.ts"
import type { CallKey, CallState, TimelineEntry } from "../domain/ServiceCall.ts"
import type { TenantRange, TenantSettings } from "../domain/TenantSettings.ts"
import type { AttemptOutcome } from "../domain/transition.ts"

/** A call of the store failed. If it was a write, its result is unknown. After a fatal error the process should end. */
export class CallStoreError extends Schema.TaggedError<CallStoreError>()("CallStoreError", {
  message: Schema.String,
  isFatal: Schema.Boolean,
}) {}

export interface StoredDetail {
  /** With the body of the answer. */
  readonly record: CallRecord
  readonly sealedRequest: Uint8Array
  readonly timeline: ReadonlyArray<TimelineEntry>
  /** Of the tenant. They are read with the call, so that nobody who reads a call can forget them. */
  readonly settings: TenantSettings
}

export interface RowFilter {
  readonly tag?: string
  readonly isStarred?: boolean
  /** A part of the name, in any case. */
  readonly name?: string
  readonly method?: string
  readonly host?: string
  readonly inclusiveFrom?: number
  readonly exclusiveUntil?: number
}

/** Where a page begins: after the call with this time and id. */
export interface ListPlace {
  readonly at: number
  readonly serviceCallId: string
}

export interface ListAsked extends RowFilter {
  readonly states: ReadonlyArray<CallState>
  readonly order: "due" | "submitted"
  readonly isAscending: boolean
  readonly after?: ListPlace
  readonly limit: number
}

export interface ListedCalls {
  readonly records: ReadonlyArray<CallRecord>
  /** Where the next page begins. Absent if there are no more. */
  readonly next?: ListPlace
}

export interface StateCount {
  readonly count: number
  readonly isCapped: boolean
}

export interface HeadsAsked {
  readonly nowMs: number
  /** The tenant after which the turn goes on; empty to begin. */
  readonly exclusiveAfterTenant: string
  readonly tenants: number
  readonly callsPerTenant: number
}

export interface OutboxHeads {
  readonly keys: ReadonlyArray<CallKey>
  /** The last tenant that was visited. Absent if there are no tenants after it. */
  readonly lastTenant?: string
}

/** A message of the outbox, and where it is in the order of its call. */
export interface OutboxRow {
  readonly lane: number
  readonly position: number
  readonly message: OutboxMessage
  /** How often publishing has failed. */
  readonly tries: number
}

export interface AttemptKey {
  readonly tenantId: string
  readonly attemptId: string
}

export interface StoredAttempt extends AttemptKey {
  readonly serviceCallId: string
  readonly state: "claimed" | "calling" | "ended"
  /** The process that claimed it, or that makes the call. */
  readonly owner: string
  readonly timeoutMs: number
  readonly claimedAt: number
  readonly startedAt?: number
  /** How it ended, and the id of the message that says so. */
  readonly ended?: { readonly outcome: AttemptOutcome; readonly messageId: string }
}

export type NewAttempt = Omit<StoredAttempt, "state" | "startedAt" | "ended">

type Stored<A> = Effect.Effect<A, CallStoreError>

export interface ClaimedSpan {
  readonly fromMs: number
  readonly exclusiveBeforeMs: number
}

export class CallStore extends Context.Service<
  CallStore,
  {
    /** `undefined` if the call was inserted, otherwise the record that is there already. */
    submit(change: CallChange, sealedRequest: Uint8Array): Stored<CallRecord | undefined>
    find(key: CallKey): Stored<CallRecord | undefined>
    detail(key: CallKey): Stored<StoredDetail | undefined>
    /** Whether the call had the expected version and is changed. */
    commit(expectedVersion: number, change: CallChange): Stored<boolean>
    list(tenantId: string, asked: ListAsked): Stored<ListedCalls>
    counts(tenantId: string, filter: RowFilter): Stored<Readonly<Record<CallState, StateCount>>>
    /** By the time of the change, oldest first. Changes of one millisecond are not separated. */
    changesAfter(tenantId: string, exclusiveAfter: number, limit: number): Stored<ReadonlyArray<CallRecord>>

    /** Calls with messages that are ready. A call may appear once only. */
    outboxHeads(asked: HeadsAsked): Stored<OutboxHeads>
    /** Whether this process holds the call's messages now. It holds them until the scope closes. */
    hold(key: CallKey): Effect.Effect<boolean, CallStoreError, Scope.Scope>
    outboxOf(key: CallKey, limit: number): Stored<ReadonlyArray<OutboxRow>>
    removeMessages(key: CallKey, rows: ReadonlyArray<OutboxRow>): Stored<void>
    /** Publishing failed: the call's messages are not ready before this time. */
    deferMessages(key: CallKey, readyAt: number): Stored<void>

    /** Inserts the attempt if it is new, and returns what is stored. */
    claimAttempt(attempt: NewAttempt): Stored<StoredAttempt>
    attemptOf(key: AttemptKey): Stored<StoredAttempt | undefined>
    beginAttempt(
      key: AttemptKey,
      step: { readonly owner: string; readonly startedAt: number; readonly message: OutboxMessage },
    ): Stored<boolean>
    endAttempt(
      key: AttemptKey,
      step: { readonly outcome: AttemptOutcome; readonly message: OutboxMessage },
    ): Stored<boolean>
    /** Puts the message of the outcome into the outbox again, unless it is still there. */
    resendOutcome(key: AttemptKey, message: OutboxMessage): Stored<void>
    /** Attempts that were claimed in this time and wait for their turn, of all tenants, oldest first. */
    waitingAttempts(claimed: ClaimedSpan, limit: number): Stored<ReadonlyArray<StoredAttempt>>
    /** Attempts that a process was calling. */
    callingAttempts(owner: string, limit: number): Stored<ReadonlyArray<StoredAttempt>>

    /** Open calls that the sweep should look at, of all tenants, oldest first. */
    openCalls(nowMs: number, limit: number): Stored<ReadonlyArray<CallRecord>>
    /** Removes calls that ended before this time, with everything that belongs to them. Returns how many. */
    prune(exclusiveBefore: number, limit: number): Stored<number>

    /** The defaults if the tenant has set nothing. */
    settingsOf(tenantId: string): Stored<TenantSettings>
    /** Replaces the settings. The last write wins. */
    putSettings(tenantId: string, settings: TenantSettings): Stored<void>
    /** The first tenants of a range that have calls, sorted bytewise. */
    tenants(range: TenantRange, limit: number): Stored<ReadonlyArray<string>>
    /** How many calls of the tenant have not ended. Counting stops at the limit. */
    openCount(tenantId: string, limit: number): Stored<number>
  }
>()("punctual/agent/CallStore") {}
