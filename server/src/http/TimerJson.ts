// Writes a timer of the contract as JSON text by hand, because answers are on the hot path and a payload goes into them
// unchanged. Tests decode every answer with the schema of the contract, so this file and the schema stay the same.
import { formatDuration } from "@punctual/api/DurationMs"
import type { AttemptLog } from "../domain/AttemptLog.ts"
import type { Attempt, FinishedLife, RetryPolicy, Spec, Target, Timer } from "../domain/Timer.ts"
import { addedFields, type TermsByName, type TimerField } from "../domain/timerFields.ts"
import type { Waiting } from "../domain/Waiting.ts"
import type { TimerView } from "../engine/front/Scheduler.ts"

/**
 * `get` answers payloads, and so do lists that request them. Creates and updates do not repeat the payload that the
 * caller has just sent. The answers of receivers to failed attempts are shown together with payloads: otherwise a list
 * of many timers could have many megabytes.
 */
export const timerJson = (view: TimerView, withPayload: boolean): string =>
  "timer" in view ? pendingJson(view, withPayload) : finishedJson(view.life, view.state, withPayload)

export const pendingJson = (view: PendingView, withPayload: boolean): string => {
  const { timer } = view
  let json = identityJson(timer, view.state)
  json += `,"executeAt":${instantJson(timer.executeAt)}`
  if (view.state === "inFlight") json += `,"attemptStartedAt":${instantJson(view.startedAt)}`
  else {
    json += `,"fireAt":${instantJson(timer.fireAt)}`
    if (view.waiting !== undefined) json += waitingJson(view.waiting)
  }
  json += attemptsJson(timer.attempts, timer.attemptLog, withPayload)
  json += termsJson(timer, withPayload)
  json += `,"createdAt":${instantJson(timer.createdAt)},"updatedAt":${instantJson(timer.updatedAt)}}`
  return json
}

export const finishedJson = (life: FinishedLife, state: string, withPayload: boolean): string => {
  let json = identityJson(life, state)
  json += `,"executeAt":${instantJson(life.executeAt)}`
  json += attemptsJson(life.attempts, life.attemptLog, withPayload)
  json += termsJson(life, withPayload)
  // The end of a timer is its last change.
  const finishedAt = instantJson(life.finishedAt)
  json += `,"createdAt":${instantJson(life.createdAt)},"updatedAt":${finishedAt},"finishedAt":${finishedAt}`
  if (life.latenessMs !== undefined) json += `,"latenessMs":${life.latenessMs}`
  if (life.reason !== undefined) json += `,"reason":${JSON.stringify(life.reason)}`
  return `${json}}`
}

const waitingJson = ({ reason, sinceMs, detail }: Waiting): string =>
  `,"waiting":{"reason":"${reason}","since":${instantJson(sinceMs)},"detail":${JSON.stringify(detail)}}`

type PendingView = Extract<TimerView, { readonly timer: Timer }>

type Shown = Timer | FinishedLife

const identityJson = (shown: Shown, state: string): string =>
  `{"namespace":${JSON.stringify(shown.namespace)},"timerId":${JSON.stringify(shown.timerId)}` +
  `,"state":"${state}","revision":${shown.revision},"fireId":${JSON.stringify(shown.fireId)}`

const attemptsJson = (attempts: number, log: AttemptLog | undefined, withAnswers: boolean): string => {
  if (log === undefined || log.length === 0) return `,"attempts":${attempts}`
  const shown = log.map((attempt) => attemptJson(attempt, withAnswers))
  return `,"attempts":${attempts},"lastAttempt":${shown.at(-1)},"attemptLog":[${shown.join(",")}]`
}

const attemptJson = ({ at, durationMs, status, error, answer }: Attempt, withAnswer: boolean): string => {
  const answered = status === undefined ? "" : `,"status":${status}`
  const failed = error === undefined ? "" : `,"error":${JSON.stringify(error)}`
  const said = answer === undefined || !withAnswer ? "" : `,"answer":${JSON.stringify(answer)}`
  return `{"at":${instantJson(at)}${answered}${failed}${said},"durationMs":${durationMs}}`
}

const termsJson = (shown: Shown, withPayload: boolean): string => {
  let json = specJson(shown.spec)
  if (withPayload && shown.payload !== undefined) json += `,"payload":${decoder.decode(shown.payload)}`
  return `${json},"correlationId":${JSON.stringify(shown.correlationId)}${addedJson(shown)}`
}

const addedParts = (addedFields as ReadonlyArray<TimerField>).map(
  ({ name }) =>
    (shown: TermsByName): string => {
      const value = shown[name]
      return value === undefined ? "" : `,"${name}":${JSON.stringify(value)}`
    },
)

const addedJson = (shown: Shown): string => {
  let json = ""
  for (let index = 0; index < addedParts.length; index++) {
    // The types guarantee that the table names only fields of the row.
    json += addedParts[index]?.(shown as unknown as TermsByName) ?? ""
  }
  return json
}

/** Most timers share a few spec objects, so the text of each is made once. */
const specTexts = new WeakMap<Spec, string>()

const specJson = (spec: Spec): string => {
  const known = specTexts.get(spec)
  if (known !== undefined) return known
  const { target, retryPolicy, expireAfterMs, onExpire, onDead } = spec
  let text = `,"target":${targetJson(target)},"retryPolicy":${retryPolicyJson(retryPolicy)}`
  if (expireAfterMs !== undefined) text += `,"expireAfter":"${formatDuration(expireAfterMs)}"`
  if (onExpire !== undefined) text += `,"onExpire":"${onExpire}"`
  if (onDead !== undefined) text += `,"onDead":${targetJson(onDead)}`
  specTexts.set(spec, text)
  return text
}

const targetJson = (target: Target): string => {
  if (target.type !== "webhook") return `{"type":"${target.type}"}`
  const headers = target.headers === undefined ? "" : `,"headers":${JSON.stringify(target.headers)}`
  return (
    `{"type":"webhook","url":${JSON.stringify(target.url)},"method":"${target.method}"${headers}` +
    `,"timeout":"${formatDuration(target.timeoutMs)}","body":"${target.body}"}`
  )
}

const retryPolicyJson = (policy: RetryPolicy): string => {
  const maxDuration =
    policy.maxDurationMs === undefined ? "" : `,"maxDuration":"${formatDuration(policy.maxDurationMs)}"`
  if (policy.waitsMs !== undefined) {
    return `{"waits":${JSON.stringify(policy.waitsMs.map(formatDuration))}${maxDuration}}`
  }
  return (
    `{"maxAttempts":${policy.maxAttempts},"initialInterval":"${formatDuration(policy.initialIntervalMs)}"` +
    `,"backoffMultiplier":${policy.backoffMultiplier},"maxInterval":"${formatDuration(policy.maxIntervalMs)}"` +
    `,"jitter":${policy.jitter}${maxDuration}}`
  )
}

/** The same instant is often written twice in a row: executeAt and fireAt, createdAt and updatedAt. */
const instantJson = (instantMs: number): string => {
  if (instantMs !== lastInstantMs) {
    lastInstantMs = instantMs
    lastInstantText = `"${new Date(instantMs).toISOString()}"`
  }
  return lastInstantText
}

let lastInstantMs = Number.NaN
let lastInstantText = ""

const decoder = new TextDecoder()
