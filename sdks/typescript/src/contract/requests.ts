/**
 * The requests about timers. The names are those of the OpenAPI document, and a test compares them. A field that is
 * `undefined` counts as absent.
 */
import type { RawJson } from "../core/RawJson.ts"

/** An instant of a request: a Date, or ISO 8601 with an offset, such as `2030-01-15T09:00:00Z`. */
export type InstantInput = Date | string

/** `250ms`, `90s`, `1h30m`, `7d`, or ISO 8601: `PT90S`. There are no months and no years. */
export type Duration = string

/** The states of lists. `pending` includes timers in flight. */
export type ListState = "pending" | "delivered" | "cancelled" | "dead"

/** The HTTP method of a webhook. */
export type WebhookMethod = "POST" | "PUT" | "PATCH" | "GET" | "DELETE"

/** A webhook with all its options. */
export interface WebhookTargetInput {
  readonly type: "webhook"
  readonly url: string
  /** POST when left out. */
  readonly method?: WebhookMethod | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** How long the receiver may take to answer; 15 s when left out. */
  readonly timeout?: Duration | undefined
  /** `payload` sends the payload alone, for endpoints that you cannot change. */
  readonly body?: "envelope" | "payload" | undefined
}

/** An event on the message bus. */
export interface EventTargetInput {
  readonly type: "event"
}

/** Where a timer is delivered. */
export type TargetInput = WebhookTargetInput | EventTargetInput

/** Who is called when a timer is dead. */
export type OnDead = WebhookTargetInput | EventTargetInput

/** When to try again after a failed attempt. Give `waits`, or the other fields. */
export interface RetryPolicyInput {
  readonly maxAttempts?: number | undefined
  readonly initialInterval?: Duration | undefined
  readonly backoffMultiplier?: number | undefined
  readonly maxInterval?: Duration | undefined
  /** The part of each wait that is random, from 0 to 1. */
  readonly jitter?: number | undefined
  readonly maxDuration?: Duration | undefined
  /** The exact waits between attempts. */
  readonly waits?: ReadonlyArray<Duration> | undefined
}

/** A timer to create. Give one of `executeAt` and `delay`, and one of `callbackUrl` and `target`. */
export interface CreateTimer<Payload = unknown> {
  /** The client's namespace when left out. */
  readonly namespace?: string | undefined
  /** Your id of the timer. The client makes a UUID v7 when left out, so that it can repeat the call. */
  readonly timerId?: string | undefined
  readonly executeAt?: InstantInput | undefined
  /** The client sends it as `executeAt`, so that a repeat does not move the timer. */
  readonly delay?: Duration | undefined
  /** Short for a webhook with the defaults. */
  readonly callbackUrl?: string | undefined
  readonly target?: TargetInput | undefined
  /** Any JSON. Pass `rawJson(text)` if large numbers must stay exact. */
  readonly payload?: Payload | RawJson | undefined
  readonly retryPolicy?: RetryPolicyInput | undefined
  /** If the first attempt has not started this long after `executeAt`, the timer is dead. */
  readonly expireAfter?: Duration | undefined
  /** What happens then: `dead` when left out. */
  readonly onExpire?: "dead" | "drop" | undefined
  readonly onDead?: OnDead | undefined
  readonly correlationId?: string | undefined
  readonly tags?: ReadonlyArray<string> | undefined
  /** The trace (W3C Trace Context) that the webhook continues. */
  readonly traceparent?: string | undefined
  /** What to do if a timer with this id is pending: `replace` when left out. */
  readonly onExisting?: "replace" | "keep" | "fail" | undefined
}

/** Timers to create in one call. The service creates them in order. */
export interface CreateManyTimers<Payload = unknown> {
  /** At most 1,000. */
  readonly timers: ReadonlyArray<CreateTimer<Payload>>
}

/** The key of one timer. */
export interface GetTimer {
  readonly namespace?: string | undefined
  readonly timerId: string
}

/** The fields of a timer to change. A field that is absent stays as it is; null clears it. */
export interface UpdateTimer<Payload = unknown> extends GetTimer {
  readonly executeAt?: InstantInput | undefined
  readonly delay?: Duration | undefined
  readonly callbackUrl?: string | undefined
  readonly target?: TargetInput | undefined
  readonly payload?: Payload | RawJson | null | undefined
  readonly retryPolicy?: RetryPolicyInput | null | undefined
  readonly expireAfter?: Duration | null | undefined
  readonly onExpire?: "dead" | "drop" | undefined
  readonly onDead?: OnDead | null | undefined
  readonly correlationId?: string | undefined
  readonly tags?: ReadonlyArray<string> | null | undefined
  /** Change the timer only if it still has this revision. */
  readonly ifRevision?: number | undefined
}

/** The timer to cancel. */
export interface DeleteTimer extends GetTimer {
  /** Cancel the timer only if it still has this revision. */
  readonly ifRevision?: number | undefined
}

/** Why a timer is dead, or was cancelled without a call. */
export type FinishReason =
  | "attemptsExhausted"
  | "durationExhausted"
  | "expired"
  | "refused"
  | "egressRefused"
  | "invalidTarget"
  | "notDead"

/** Selects timers. All fields that are given must match. */
export interface TimerFilter {
  /** Inclusive: by due time if pending, by finish time if finished. */
  readonly from?: InstantInput | undefined
  /** Exclusive. */
  readonly until?: InstantInput | undefined
  readonly idPrefix?: string | undefined
  readonly correlationId?: string | undefined
  readonly tag?: string | undefined
  /** Webhooks to this host: `example.com`, or `example.com:8443`. */
  readonly host?: string | undefined
  readonly reason?: FinishReason | undefined
  /** How the last attempt failed. */
  readonly error?: "timeout" | "network" | "4xx" | "5xx" | undefined
  /** Deliveries that were at least this late, and timers that are overdue by at least this. */
  readonly minLateness?: Duration | undefined
}

/** The namespaces that a call looks at. */
export interface NamespaceScope {
  readonly namespace?: string | undefined
  /** Up to 20 names or prefixes such as `team-*`, or `["*"]`. */
  readonly namespaces?: ReadonlyArray<string> | undefined
}

/** Which timers to count. `state` is `pending` when left out. */
export interface CountTimers extends NamespaceScope, TimerFilter {
  readonly state?: ListState | undefined
  readonly states?: ReadonlyArray<ListState> | undefined
}

/** Which timers to list, and how. */
export interface ListTimers extends CountTimers {
  readonly order?: "asc" | "desc" | undefined
  readonly include?: ReadonlyArray<"payload"> | undefined
  /** Where to begin: the `nextCursor` of an earlier page. */
  readonly cursor?: string | undefined
  /** The size of a page, at most 1,000; 100 when left out. */
  readonly limit?: number | undefined
}

/** The timers of a histogram. */
export interface HistogramFilter extends CountTimers {
  readonly from: InstantInput
  readonly until: InstantInput
}

/** Which timers to count, and in how many parts of their span. */
export interface TimerHistogram {
  readonly filter: HistogramFilter
  /** From 1 to 500. */
  readonly buckets: number
}

/** The lives of one timer id. */
export interface ListLives extends GetTimer {
  readonly cursor?: string | undefined
  readonly limit?: number | undefined
}

/** What happened over time. */
export interface GetActivity {
  readonly namespaces?: ReadonlyArray<string> | undefined
  readonly from: InstantInput
  readonly until: InstantInput
  /** Whole minutes or whole hours. */
  readonly step: Duration
  readonly by?: "namespace" | "host" | undefined
}

/** Which pending timers to cancel: `filter`, or `all: true`. */
export interface DeleteManyTimers {
  readonly namespace?: string | undefined
  readonly filter?: TimerFilter | undefined
  readonly all?: true | undefined
  readonly cursor?: string | undefined
}

/** Which dead letters to replay: one of `timerId`, `filter` and `all: true`. */
export interface ReplayTimers extends DeleteManyTimers {
  readonly timerId?: string | undefined
  /** Only count, and change nothing. */
  readonly dryRun?: boolean | undefined
}

/** Which dead letters to remove: one of `timerId`, `filter` and `all: true`. */
export interface DiscardTimers extends ReplayTimers {
  /** Why. The audit record shows it. */
  readonly reason?: string | undefined
}
