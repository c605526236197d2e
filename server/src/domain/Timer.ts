// The words of the product as plain data: a pending timer, a finished life, and what they are made
// of. Times are epoch milliseconds, uuids are 32 lower-case hex digits (their string order is the
// byte order of the 16 bytes), payloads are the caller's JSON text as bytes and never parsed here.
import { type AttemptLog, attemptLogBytes } from "./AttemptLog.ts"

/** The stable identity of a key: hex of the first 16 bytes of SHA-256. */
export type Uuid = string

export interface TimerKey {
  readonly namespace: string
  readonly timerId: string
  readonly uuid: Uuid
}

export interface WebhookTarget {
  readonly type: "webhook"
  readonly url: string
  readonly method: "POST" | "PUT" | "PATCH" | "GET" | "DELETE"
  readonly headers?: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly body: "envelope" | "payload"
}

export type Target = WebhookTarget | { readonly type: "event" } | { readonly type: "handler" }

/** Who is told of a dead timer. */
export type OnDead = Exclude<Target, { readonly type: "handler" }>

export interface RetryPolicy {
  readonly maxAttempts: number
  readonly initialIntervalMs: number
  readonly backoffMultiplier: number
  readonly maxIntervalMs: number
  readonly jitter: number
  readonly maxDurationMs?: number
  /** The wait after each failed attempt, in place of one that grows. The fields above then follow from it. */
  readonly waitsMs?: ReadonlyArray<number>
}

/** What stays the same over all attempts of an arming, payload apart. */
export interface Spec {
  readonly target: Target
  readonly retryPolicy: RetryPolicy
  readonly expireAfterMs?: number
  /** Expired, the timer ends without a dead letter. */
  readonly onExpire?: "drop"
  /** Who is told if the timer is dead; absent, whoever its namespace names. */
  readonly onDead?: OnDead
  /** The timer is itself such a call: it tells of this death. */
  readonly death?: Death
  /**
   * Why the stored texts of this timer or life cannot be read. The rest of the spec is then a stand-in. Such a row is
   * set aside: it is neither fired, nor shown, nor written back.
   */
  readonly unreadable?: string
}

/** The end of an arming, as its onDead is told of it. Namespace, correlation id, tags and payload are those of the call. */
export interface Death {
  readonly timerId: string
  readonly fireId: string
  readonly revision: number
  readonly executeAt: number
  readonly reason: string
  readonly attempts: number
  readonly lastAttempt?: Attempt
}

/** One try to deliver, in short. */
export interface Attempt {
  readonly at: number
  readonly durationMs: number
  readonly status?: number
  readonly error?: string
  /** Of an attempt that failed: how the answer's body began, at most 512 bytes. */
  readonly answer?: string
}

/** A pending timer as the store holds it. */
export interface Timer extends TimerKey {
  readonly fireId: string
  readonly revision: number
  readonly executeAt: number
  readonly fireAt: number
  /** Attempts made and settled since this arming. */
  readonly attempts: number
  readonly firstAttemptAt?: number
  /** The latest of them, oldest first. */
  readonly attemptLog?: AttemptLog
  readonly createdAt: number
  readonly updatedAt: number
  /**
   * The sender's own time stamp of the command that last set the due time; absent if that was not set over the
   * bus. A command that was sent earlier, and comes later, is known by it.
   */
  readonly askedAt?: number
  readonly correlationId: string
  /** The caller's own words to find it by. */
  readonly tags?: ReadonlyArray<string>
  /** The trace of the call that created it, which its webhooks continue. */
  readonly traceparent?: string
  readonly spec: Spec
  readonly payload?: Uint8Array
}

/** A timer without what only its delivery needs: what a sweep reads. */
export interface TimerHead extends TimerKey {
  readonly fireId: string
  readonly fireAt: number
}

export type FinishedState = "delivered" | "cancelled" | "dead"

/** What became of an arming that ended. Only dead letters keep their payload. */
export interface FinishedLife extends TimerKey {
  readonly state: FinishedState
  readonly fireId: string
  readonly revision: number
  readonly executeAt: number
  readonly attempts: number
  /** The latest of them, oldest first. */
  readonly attemptLog?: AttemptLog
  readonly createdAt: number
  readonly finishedAt: number
  readonly latenessMs?: number
  /** Why it is dead: `attemptsExhausted`, `expired`, `refused` … Why it is cancelled, if no call did that: `expired`, `notDead`. */
  readonly reason?: string
  /** The id of the cancel that ended it, so that a repeated cancel gets the same answer. */
  readonly endedBy?: string
  readonly correlationId: string
  readonly tags?: ReadonlyArray<string>
  readonly traceparent?: string
  readonly spec: Spec
  readonly payload?: Uint8Array
}

export const isReadable = ({ spec }: { readonly spec: Spec }): boolean => spec.unreadable === undefined

/** How much memory a timer is counted as: its payload, what was logged of it, its tags, and a round sum for the rest. */
export const timerBytes = (timer: Timer): number =>
  600 + (timer.payload?.byteLength ?? 0) + attemptLogBytes(timer.attemptLog) + 100 * (timer.tags?.length ?? 0)

/** While it is being put together: to add a part is quicker than to spread it. */
export type Mutable<T> = { -readonly [name in keyof T]: T[name] }
