// How timers are shown to people: as a table, and as a page for one of them. Programs get the service's own JSON.
import { formatDuration } from "@punctual/api/DurationMs"
import type { TimerAnswer } from "@punctual/api/GetTimer"
import { formatInstant } from "@punctual/api/Instant"
import { memberSpan } from "@punctual/api/JsonSpan"
import { printable } from "../frame/CommandRuntime.ts"
import { countOf, spanShown } from "../frame/figures.ts"
import { layOutJson } from "../frame/layOutJson.ts"
import { textTable } from "../frame/textTable.ts"

/** The columns of a list, which follow from what is asked for: the pages of one list have the same. */
export interface TableShape {
  readonly hasPending: boolean
  readonly hasFinished: boolean
  /** Where timers of several namespaces may be in it. */
  readonly hasNamespaces: boolean
}

/** Timers of one list. The payloads are JSON texts. */
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

/** Everything about one timer. `text` is the JSON in which it stands as the member `timer`. */
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

/** Names and values below one another; what is not there is left out. */
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

/** An event and a handler have no status: without an error they were delivered. An error says most statuses itself. */
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

/** As it was sent: parsing it and writing it again would change large numbers. */
const payloadText = (text: string): string | undefined => {
  const timer = memberSpan(text, "timer")
  const timerText = timer === undefined ? "" : text.slice(timer.start, timer.end)
  const payload = memberSpan(timerText, "payload")
  return payload === undefined ? undefined : timerText.slice(payload.start, payload.end)
}
