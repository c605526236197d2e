// A service call: a request to somebody else's service, made now or at its due time, and what became of it. All times
// are milliseconds since 1970.

export const callStates = ["Submitted", "Scheduled", "Running", "Succeeded", "Failed", "Cancelled"] as const

export type CallState = (typeof callStates)[number]

/** States that never change. */
export const finalStates: ReadonlySet<CallState> = new Set(["Succeeded", "Failed", "Cancelled"])

/** The request as the user gave it. It may contain secrets, so it is sealed at rest and redacted on every read. */
export interface RequestSpec {
  readonly method: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as it is, in UTF-8. */
  readonly body?: string
}

/** The answer of the called service. */
export interface ResponseMeta {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** At most 64 KiB of the body, as text. */
  readonly bodySnippet: string
  /** The body was longer than the snippet. */
  readonly isCut?: boolean
  readonly latencyMs: number
}

export const failureKinds = ["status", "timeout", "network", "egressRefused", "outcomeUnknown"] as const

export type FailureKind = (typeof failureKinds)[number]

export interface ErrorMeta {
  readonly kind: FailureKind
  readonly message: string
  readonly latencyMs?: number
  /** The answer, if there was one. */
  readonly response?: ResponseMeta
}

/** What is known about a call without its request. */
export interface ServiceCall {
  readonly tenantId: string
  readonly serviceCallId: string
  /** Grows by one with every change of the call, also of its name, tags or star. */
  readonly version: number
  readonly state: CallState
  readonly name: string
  readonly tags: ReadonlyArray<string>
  readonly isStarred: boolean
  /** Of the request, so that lists can show and filter it without opening the seal. */
  readonly method: string
  readonly host: string
  /** The URL without its query. */
  readonly shownUrl: string
  readonly correlationId: string
  readonly submittedAt: number
  readonly dueAt: number
  /** How often the call got a due time: the n of its timer's id, `<serviceCallId>~d<n>`. */
  readonly dueTimes: number
  /** The `timestampMs` of the last ScheduleTimer. The next one must have a larger one. */
  readonly scheduledAtMs: number
  /** Of the one attempt, once the call is Running. */
  readonly attemptId?: string
  /** When Orchestration started the attempt. */
  readonly runningAt?: number
  /** When Execution began to call, if it has said so. */
  readonly startedAt?: number
  readonly finishedAt?: number
  readonly response?: ResponseMeta
  readonly error?: ErrorMeta
}

export interface CallKey {
  readonly tenantId: string
  readonly serviceCallId: string
}

/** One line of a call's timeline. */
export interface TimelineEntry {
  readonly at: number
  /** The version of the call after it. */
  readonly version: number
  /** What happened: a message type such as DueTimeReached, or Cancelled, Rescheduled, Rescued, LateOutcome. */
  readonly what: string
  /** The state after it. */
  readonly state: CallState
  /** The message that caused it, if a message did. */
  readonly messageId?: string
  readonly causationId?: string
  readonly detail?: string
}
