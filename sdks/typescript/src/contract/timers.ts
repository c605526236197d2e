/**
 * The answers about timers. The names are those of the OpenAPI document, and a test compares them. Instants are text in
 * UTC with milliseconds: they sort as text, and survive JSON.
 */
import type { ProblemDocument } from "./problems.ts"
import type { Duration, FinishReason, WebhookMethod } from "./requests.ts"

/** What a timer does now, or how it ended. */
export type TimerState = "pending" | "inFlight" | "delivered" | "cancelled" | "dead"

/** The complete webhook of a timer. */
export interface WebhookTarget {
  readonly type: "webhook"
  readonly url: string
  readonly method: WebhookMethod
  readonly headers?: Readonly<Record<string, string>>
  readonly timeout: Duration
  readonly body: "envelope" | "payload"
}

/** An event on the message bus. */
export interface EventTarget {
  readonly type: "event"
}

/** A function of the program that runs the engine. */
export interface HandlerTarget {
  readonly type: "handler"
}

/** Waits that grow. */
export interface RetryPolicy {
  readonly maxAttempts: number
  readonly initialInterval: Duration
  readonly backoffMultiplier: number
  readonly maxInterval: Duration
  readonly jitter: number
  readonly maxDuration?: Duration
}

/** Waits that are listed. */
export interface RetryWaits {
  readonly waits: ReadonlyArray<Duration>
  readonly maxDuration?: Duration
}

/** One attempt to deliver a timer. */
export interface Attempt {
  readonly at: string
  readonly status?: number
  readonly error?: string
  /** The first bytes of the receiver's answer to a failed attempt. */
  readonly answer?: string
  readonly durationMs: number
}

/** Why a due timer has not started. */
export interface Waiting {
  readonly reason:
    | "paused"
    | "servicePaused"
    | "breaker"
    | "congested"
    | "egressRefused"
    | "noSubscriber"
    | "sealed"
    | (string & {})
  readonly since: string
  readonly detail: string
}

/** A timer, pending or finished. */
export interface Timer<Payload = unknown> {
  readonly namespace: string
  readonly timerId: string
  readonly state: TimerState
  /** Grows each time a timer with this id is armed. Send it as `ifRevision`. */
  readonly revision: number
  /** New each time the timer is armed, and the same on all attempts. */
  readonly fireId: string
  readonly executeAt: string
  /** When the next attempt is due. */
  readonly fireAt?: string
  readonly waiting?: Waiting
  readonly attemptStartedAt?: string
  readonly attempts: number
  readonly lastAttempt?: Attempt
  readonly attemptLog?: ReadonlyArray<Attempt>
  readonly target: WebhookTarget | EventTarget | HandlerTarget
  /** Absent once the timer was delivered or cancelled. */
  readonly payload?: Payload
  readonly retryPolicy: RetryPolicy | RetryWaits
  readonly expireAfter?: Duration
  readonly onExpire?: "dead" | "drop"
  readonly onDead?: WebhookTarget | EventTarget
  readonly correlationId: string
  readonly tags?: ReadonlyArray<string>
  readonly traceparent?: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly finishedAt?: string
  /** How late the successful attempt was. */
  readonly latenessMs?: number
  readonly reason?: FinishReason | (string & {})
}

/** `unchanged` and `alreadyFinished`: nothing changed. */
export type CreateResult = "created" | "replaced" | "unchanged" | "alreadyFinished"

/** The timer, and what the create did. */
export interface CreateTimerAnswer<Payload = unknown> {
  readonly result: CreateResult
  readonly timer: Timer<Payload>
  /** Sentences for people. */
  readonly warnings?: ReadonlyArray<string>
}

/** A timer of `createMany` that the service accepted. */
export interface CreatedItem {
  readonly result: CreateResult
  readonly timerId: string
  readonly revision: number
  readonly fireId: string
  readonly warnings?: ReadonlyArray<string>
}

/** A timer of `createMany` that the service refused. */
export interface FailedItem {
  readonly problem: ProblemDocument
}

/** For each timer of the request, in its order, its result or its problem. */
export interface CreateManyTimersAnswer {
  readonly results: ReadonlyArray<CreatedItem | FailedItem>
}

/** One timer. */
export interface TimerAnswer<Payload = unknown> {
  readonly timer: Timer<Payload>
}

/** The timer after the change. */
export interface UpdateTimerAnswer<Payload = unknown> extends TimerAnswer<Payload> {
  readonly warnings?: ReadonlyArray<string>
}

/** What a cancel did. `inFlight`: one attempt runs and cannot be stopped; no other follows. */
export interface DeleteTimerAnswer {
  readonly result: "cancelled" | "inFlight" | "alreadyDelivered" | "alreadyCancelled" | "alreadyDead"
}

/** One call does a limited part. Repeat it while there is `more`, with `nextCursor` as `cursor`. */
export interface PartlyDone {
  readonly more?: true
  readonly nextCursor?: string
  readonly examined?: number
}

/** How many timers the call cancelled, and how many were in flight. */
export interface DeleteManyTimersAnswer extends PartlyDone {
  readonly cancelled: number
  readonly inFlight: number
}

/** How many dead letters the call replayed. Skipped: a timer with the same id is pending. */
export interface ReplayTimersAnswer extends PartlyDone {
  readonly replayed: number
  readonly skipped: number
}

/** How many dead letters the call removed. */
export interface DiscardTimersAnswer extends PartlyDone {
  readonly discarded: number
}

/** One page of timers. */
export interface ListTimersAnswer<Payload = unknown> {
  readonly timers: ReadonlyArray<Timer<Payload>>
  readonly nextCursor?: string
  readonly examined?: number
}

/** One page of the lives of a timer id, latest first. */
export interface ListLivesAnswer<Payload = unknown> {
  readonly lives: ReadonlyArray<Timer<Payload>>
  readonly nextCursor?: string
}

/** How many timers match. If `capped`, there are at least this many. */
export interface CountTimersAnswer {
  readonly count: number
  readonly capped: boolean
  readonly examined?: number
}

/** How many timers there are in each part of the span. */
export interface TimerHistogramAnswer {
  readonly from: string
  readonly until: string
  readonly counts: ReadonlyArray<number>
  readonly total: number
  readonly estimated: boolean
  readonly asOf: string
  readonly capped?: boolean
  readonly countedUntil?: string
  readonly examined?: number
  readonly missing?: ReadonlyArray<string>
}

/** What happened in one step. */
export interface ActivityPoint {
  readonly at: string
  readonly created: number
  readonly delivered: number
  readonly retried: number
  readonly dead: number
  readonly cancelled: number
  /** How many first attempts were this late, by the bounds in `latenessUpToMs`. */
  readonly lateness?: ReadonlyArray<number>
}

/** The lateness of one namespace or host. */
export interface ActivitySeries {
  readonly name: string
  readonly points: ReadonlyArray<{ readonly at: string; readonly lateness: ReadonlyArray<number> }>
}

/** How much happened in each step. */
export interface ActivityAnswer {
  readonly from: string
  readonly until: string
  readonly step: Duration
  readonly latenessUpToMs: ReadonlyArray<number>
  readonly points: ReadonlyArray<ActivityPoint>
  readonly series?: ReadonlyArray<ActivitySeries>
  readonly partial?: true
  readonly missing: ReadonlyArray<string>
}
