// The terms of the product as plain data: a pending timer, a finished life, and their parts. Times are epoch
// milliseconds. Uuids are 32 lower-case hex digits, whose string order is the order of the 16 bytes. Payloads are the
// bytes of the caller's JSON text and are never parsed here.
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

/** The target of the call that reports a dead timer. */
export type OnDead = Exclude<Target, { readonly type: "handler" }>

export interface RetryPolicy {
  readonly maxAttempts: number
  readonly initialIntervalMs: number
  readonly backoffMultiplier: number
  readonly maxIntervalMs: number
  readonly jitter: number
  readonly maxDurationMs?: number
  /** The wait after each failed attempt, instead of a growing one. The fields above are then derived from it. */
  readonly waitsMs?: ReadonlyArray<number>
}

/** What is the same for all attempts of an arming, except for the payload. */
export interface Spec {
  readonly target: Target
  readonly retryPolicy: RetryPolicy
  readonly expireAfterMs?: number
  /** If the timer expires, it ends without a dead letter. */
  readonly onExpire?: "drop"
  /** The target of the call if the timer is dead. If absent, the onDead of its namespace is used. */
  readonly onDead?: OnDead
  /** Present if the timer is itself such a call. It reports this death. */
  readonly death?: Death
  /**
   * Why the stored texts of this timer or life cannot be read. The rest of the spec is then a placeholder. Such a row
   * is ignored: it is not fired, not shown and not written back.
   */
  readonly unreadable?: string
}

/** What the call of `onDead` says about the dead timer. Namespace, correlation id, tags and payload are those of the call. */
export interface Death {
  readonly timerId: string
  readonly fireId: string
  readonly revision: number
  readonly executeAt: number
  readonly reason: string
  readonly attempts: number
  readonly lastAttempt?: Attempt
}

/** A short record of one attempt. */
export interface Attempt {
  readonly at: number
  readonly durationMs: number
  readonly status?: number
  readonly error?: string
  /** For a failed attempt: the beginning of the answer's body, at most 512 bytes. */
  readonly answer?: string
}

/** A pending timer as the store keeps it. */
export interface Timer extends TimerKey {
  readonly fireId: string
  readonly revision: number
  readonly executeAt: number
  readonly fireAt: number
  /** Attempts made and settled since this arming. */
  readonly attempts: number
  readonly firstAttemptAt?: number
  /** The latest attempts, oldest first. */
  readonly attemptLog?: AttemptLog
  readonly createdAt: number
  readonly updatedAt: number
  /**
   * The sender's timestamp of the command that last set the due time; absent if the due time was not set over the bus.
   * It shows whether a command that arrives later was sent earlier.
   */
  readonly askedAt?: number
  readonly correlationId: string
  /** The caller's tags to find the timer by. */
  readonly tags?: ReadonlyArray<string>
  /** The trace of the call that created it, which its webhooks continue. */
  readonly traceparent?: string
  readonly spec: Spec
  readonly payload?: Uint8Array
}

/** The part of a timer that a sweep reads, without the fields that only a delivery needs. */
export interface TimerHead extends TimerKey {
  readonly fireId: string
  readonly fireAt: number
}

export type FinishedState = "delivered" | "cancelled" | "dead"

/** An arming that has ended. Only dead letters keep their payload. */
export interface FinishedLife extends TimerKey {
  readonly state: FinishedState
  readonly fireId: string
  readonly revision: number
  readonly executeAt: number
  readonly attempts: number
  /** The latest attempts, oldest first. */
  readonly attemptLog?: AttemptLog
  readonly createdAt: number
  readonly finishedAt: number
  readonly latenessMs?: number
  /**
   * Why the timer is dead: `attemptsExhausted`, `expired`, `refused` … Or why it was cancelled without
   * a call: `expired`, `notDead`.
   */
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

/**
 * The estimated memory of a timer: its payload, its attempt log, its tags, its URLs and headers (which are also kept as
 * text), and a flat size for the rest. Timers may share URLs and headers; here they count for each timer.
 */
export const timerBytes = (timer: Timer): number =>
  600 +
  (timer.payload?.byteLength ?? 0) +
  attemptLogBytes(timer.attemptLog) +
  100 * (timer.tags?.length ?? 0) +
  2 * (targetBytes(timer.spec.target) + targetBytes(timer.spec.onDead))

const targetBytes = (target: Target | undefined): number => {
  if (target?.type !== "webhook") return 0
  let bytes = target.url.length
  for (const name in target.headers) bytes += name.length + (target.headers[name]?.length ?? 0)
  return bytes
}

/** For building an object field by field, which is faster than object spread. */
export type Mutable<T> = { -readonly [name in keyof T]: T[name] }
