// Timers as text for people: a table for many, a page for one. Programs get the JSON of the service instead.
import { formatDuration } from "@punctual/api/DurationMs"
import type { TimerAnswer } from "@punctual/api/GetTimer"
import { formatInstant } from "@punctual/api/Instant"
import { memberSpan } from "@punctual/api/JsonSpan"
import { printable } from "../frame/CommandRuntime.ts"
import { countOf, spanShown } from "../frame/figures.ts"
import { layOutJson } from "../frame/layOutJson.ts"
import { textTable } from "../frame/textTable.ts"

/** The columns of a list depend only on the request, so that all pages of a list have the same columns. */
export interface TableShape {
  readonly hasPending: boolean
  readonly hasFinished: boolean
  /** The list may contain timers of several namespaces. */
  readonly hasNamespaces: boolean
}

/** `payloads` are JSON texts. */
export const timerTable = (
  timers: ReadonlyArray<Timer>,
  { hasPending, hasFinished, hasNamespaces }: TableShape,
  payloads: ReadonlyArray<string> | undefined,
): string => {
  const time = !hasFinished ? "FIRE AT" : hasPending ? "FIRE OR FINISHED AT" : "FINISHED AT"
  return textTable([
    [
      ...(hasNamespaces ? ["NAMESPACE"] : []),
      ...["TIMER", "STATE", time, "ATTEMPTS", "TARGET"],
      ...(hasFinished ? ["WHY"] : []),
      ...(payloads === undefined ? [] : ["PAYLOAD"]),
    ],
    ...timers.map((timer, index) => [
      ...(hasNamespaces ? [timer.namespace] : []),
      timer.timerId,
      timer.waiting === undefined ? timer.state : `${timer.state} (${timer.waiting.reason})`,
      instantText(timer.finishedAt ?? timer.fireAt ?? timer.executeAt),
      String(timer.attempts),
      targetText(timer.target),
      ...(hasFinished ? [whyText(timer)] : []),
      ...(payloads === undefined ? [] : [payloads[index] ?? ""]),
    ]),
  ])
}

/** Everything about one timer. `text` is the JSON answer that contains it as the member `timer`. */
export const timerPage = (timer: Timer, text: string): string => {
  const { lastAttempt, attemptLog = [] } = timer
  const facts: ReadonlyArray<readonly [string, string | undefined]> = [
    ["timer", `${timer.namespace}/${timer.timerId}`],
    ["state", timer.state],
    ["waiting", timer.waiting && waitingText(timer.waiting)],
    ["started at", timer.attemptStartedAt === undefined ? undefined : formatInstant(timer.attemptStartedAt)],
    ["why", timer.reason],
    ["execute at", formatInstant(timer.executeAt)],
    ["fire at", timer.fireAt === undefined ? undefined : formatInstant(timer.fireAt)],
    ["finished at", timer.finishedAt === undefined ? undefined : formatInstant(timer.finishedAt)],
    ["lateness", timer.latenessMs === undefined ? undefined : spanShown(timer.latenessMs)],
    ["attempts", String(timer.attempts)],
    ["last attempt", lastAttempt === undefined ? undefined : attemptText(lastAttempt)],
    ["answer", lastAttempt?.answer],
    ["target", targetText(timer.target)],
    ["retry", retryText(timer.retryPolicy)],
    ["expires after", timer.expireAfterMs === undefined ? undefined : formatDuration(timer.expireAfterMs)],
    ["on expiry", timer.onExpire === "drop" ? "dropped" : undefined],
    ["on death", timer.onDead === undefined ? undefined : targetText(timer.onDead)],
    ["revision", String(timer.revision)],
    ["fire id", timer.fireId],
    ["correlation", timer.correlationId],
    ["tags", timer.tags?.join(", ")],
    ["trace", timer.traceparent],
    ["created at", formatInstant(timer.createdAt)],
    ["updated at", formatInstant(timer.updatedAt)],
  ]
  const payload = payloadText(text)
  return [
    factLines(facts),
    ...(attemptLog.length < 2 ? [] : ["", "attempts:", ...attemptLog.flatMap(attemptLines)]),
    ...(payload === undefined ? [] : ["", "payload:", layOutJson(payload)]),
  ].join("\n")
}

/** One line for each name and value. Names without a value are left out. */
export const factLines = (facts: ReadonlyArray<readonly [string, string | undefined]>): string =>
  facts
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(15)}${printable(value)}`]))
    .join("\n")

type Timer = TimerAnswer["timer"]
type Attempt = NonNullable<Timer["lastAttempt"]>

const waitingText = ({ reason, since, detail }: NonNullable<Timer["waiting"]>): string =>
  `${reason} since ${formatInstant(since)}: ${detail}`

export const attemptText = ({ at, status, error, durationMs }: Attempt): string =>
  printable(`${formatInstant(at)}  ${outcomeText(status, error)}  (${spanShown(durationMs)})`)

const attemptLines = (attempt: Attempt): ReadonlyArray<string> => [
  `  ${attemptText(attempt)}`,
  ...(attempt.answer === undefined ? [] : [`    answer: ${printable(attempt.answer)}`]),
]

/** Events and handlers have no status: without an error they were delivered. Most errors contain the status. */
const outcomeText = (status: number | undefined, error: string | undefined): string => {
  if (error === undefined) return status === undefined ? "delivered" : `answered ${status}`
  return status === undefined || error.includes(String(status)) ? error : `answered ${status}: ${error}`
}

/** How many attempts the policy allows in all. */
export const attemptsIn = (policy: Timer["retryPolicy"]): number =>
  "waitsMs" in policy ? policy.waitsMs.length + 1 : policy.maxAttempts

export const retryText = (policy: Timer["retryPolicy"]): string => {
  const { maxDurationMs } = policy
  const end = maxDurationMs === undefined ? "" : `, for ${formatDuration(maxDurationMs)} at most`
  if ("waitsMs" in policy) {
    const { waitsMs } = policy
    if (waitsMs.length === 0) return `1 attempt${end}`
    return `${countOf(waitsMs.length + 1, "attempt")}, after waits of ${waitsMs.map(formatDuration).join(", ")}${end}`
  }
  const { maxAttempts, initialIntervalMs, backoffMultiplier, maxIntervalMs, jitter } = policy
  return `${countOf(maxAttempts, "attempt")}, ${formatDuration(initialIntervalMs)} times ${backoffMultiplier} up to ${formatDuration(maxIntervalMs)}, jitter ${jitter}${end}`
}

export const targetText = (target: Timer["target"]): string => {
  if (target.type !== "webhook") return target.type
  return target.method === "POST" ? target.url : `${target.method} ${target.url}`
}

const whyText = ({ reason, lastAttempt }: Timer): string =>
  reason === undefined ? "-" : [reason, lastAttempt?.error].filter((part) => part !== undefined).join(": ")

const instantText = (instantMs: number | undefined): string =>
  instantMs === undefined ? "-" : formatInstant(instantMs)

/** The payload as it was sent: parsing it and writing it again would change large numbers. */
const payloadText = (text: string): string | undefined => {
  const timer = memberSpan(text, "timer")
  const timerText = timer === undefined ? "" : text.slice(timer.start, timer.end)
  const payload = memberSpan(timerText, "payload")
  return payload === undefined ? undefined : timerText.slice(payload.start, payload.end)
}
