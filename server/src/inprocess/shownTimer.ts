// A timer as a program sees it: the timer of the contract, but with Dates for instants. A test compares it with the
// JSON of HTTP.
import { formatDuration } from "@punctual/api/DurationMs"
import { type AttemptLog, withoutAnswers } from "../domain/AttemptLog.ts"
import type {
  FinishedLife,
  OnDead,
  RetryPolicy,
  Spec,
  Target,
  Timer,
  WebhookTarget,
} from "../domain/Timer.ts"
import { addedAfter } from "../domain/timerFields.ts"
import type { Waiting } from "../domain/Waiting.ts"
import type { TimerView } from "../engine/front/Scheduler.ts"
import type { PayloadForm } from "./PayloadForm.ts"
import type { ShownTimer } from "./Requests.ts"

/** Without `payloads` the payload and the answers of receivers to failed attempts are left out. */
export const shownTimer = (view: TimerView, payloads: PayloadForm | undefined): ShownTimer =>
  "timer" in view ? shownPending(view, payloads) : shownFinished(view.life, payloads)

const shownPending = (
  view: Extract<TimerView, { readonly timer: Timer }>,
  payloads: PayloadForm | undefined,
): ShownTimer => ({
  ...shownPart(view.timer, payloads),
  state: view.state,
  ...(view.state === "inFlight"
    ? { attemptStartedAt: new Date(view.startedAt) }
    : { fireAt: new Date(view.timer.fireAt), ...shownWaiting(view.waiting) }),
  updatedAt: new Date(view.timer.updatedAt),
})

const shownFinished = (life: FinishedLife, payloads: PayloadForm | undefined): ShownTimer => ({
  ...shownPart(life, payloads),
  state: life.state,
  // The end of a timer is its last change.
  updatedAt: new Date(life.finishedAt),
  finishedAt: new Date(life.finishedAt),
  ...(life.latenessMs === undefined ? {} : { latenessMs: life.latenessMs }),
  ...(life.reason === undefined ? {} : { reason: life.reason }),
})

const shownPart = (shown: Timer | FinishedLife, payloads: PayloadForm | undefined) => ({
  namespace: shown.namespace,
  timerId: shown.timerId,
  revision: shown.revision,
  fireId: shown.fireId,
  executeAt: new Date(shown.executeAt),
  attempts: shown.attempts,
  ...shownAttempts(shown.attemptLog ?? [], payloads !== undefined),
  ...shownSpec(shown.spec),
  ...(payloads === undefined || shown.payload === undefined
    ? {}
    : { payload: payloads.ofBytes(shown.payload) }),
  correlationId: shown.correlationId,
  ...addedAfter(shown, {}),
  createdAt: new Date(shown.createdAt),
})

const shownWaiting = (waiting: Waiting | undefined): Pick<ShownTimer, "waiting"> => {
  if (waiting === undefined) return {}
  const { reason, sinceMs, detail } = waiting
  return { waiting: { reason, since: new Date(sinceMs), detail } }
}

const shownAttempts = (log: AttemptLog, withAnswer: boolean) => {
  const shown = withAnswer ? log : withoutAnswers(log)
  const attemptLog = shown.map((attempt) => ({ ...attempt, at: new Date(attempt.at) }))
  const lastAttempt = attemptLog.at(-1)
  return lastAttempt === undefined ? {} : { lastAttempt, attemptLog }
}

const shownSpec = ({ target, retryPolicy, expireAfterMs, onExpire, onDead }: Spec) => ({
  target: shownTarget(target),
  retryPolicy: shownPolicy(retryPolicy),
  ...(expireAfterMs === undefined ? {} : { expireAfter: formatDuration(expireAfterMs) }),
  ...(onExpire === undefined ? {} : { onExpire }),
  ...(onDead === undefined ? {} : { onDead: shownOnDead(onDead) }),
})

const shownTarget = (target: Target) => (target.type === "webhook" ? shownWebhook(target) : target)

const shownOnDead = (target: OnDead) => (target.type === "webhook" ? shownWebhook(target) : target)

const shownWebhook = ({ timeoutMs, ...rest }: WebhookTarget) => ({
  ...rest,
  timeout: formatDuration(timeoutMs),
})

const shownPolicy = (policy: RetryPolicy): ShownTimer["retryPolicy"] => {
  const { initialIntervalMs, maxIntervalMs, maxDurationMs, waitsMs, ...rest } = policy
  const bound = maxDurationMs === undefined ? {} : { maxDuration: formatDuration(maxDurationMs) }
  if (waitsMs !== undefined) return { waits: waitsMs.map(formatDuration), ...bound }
  return {
    ...rest,
    initialInterval: formatDuration(initialIntervalMs),
    maxInterval: formatDuration(maxIntervalMs),
    ...bound,
  }
}
