// Why a timer has not fired, or what became of it, in words, and what to do about it. Everything here follows from the
// timer as the service shows it.
import { formatDuration } from "@punctual/api/DurationMs"
import type { TimerAnswer } from "@punctual/api/GetTimer"
import { formatInstant } from "@punctual/api/Instant"
import type { ServiceAnswer } from "@punctual/api/Service"
import { spanShown } from "../frame/figures.ts"
import { attemptsIn, attemptText } from "./TimerView.ts"

export const explanationStatuses = [
  "notDue",
  "waitingForRetry",
  "waiting",
  "starting",
  "inFlight",
  "delivered",
  "cancelled",
  "dead",
] as const

export interface Explanation {
  readonly status: (typeof explanationStatuses)[number]
  /** One sentence or a few. */
  readonly why: string
  /** Since when it is so, in epoch milliseconds; not for timers whose time has not come. */
  readonly sinceMs?: number
  /** What the person who asks can do: commands and settings. Empty if there is nothing to do. */
  readonly todo: ReadonlyArray<string>
}

/** The service as `/service/get` shows it, or at least its time. */
export type ServiceState = Pick<ServiceAnswer, "now" | "pause">

type Timer = TimerAnswer["timer"]

export const explanationOf = (timer: Timer, service: ServiceState): Explanation => {
  switch (timer.state) {
    case "pending":
      return ofPending(timer, service)
    case "inFlight":
      return ofFlight(timer, service.now)
    case "delivered":
      return {
        status: "delivered",
        why: `Attempt ${timer.attempts} delivered it${latenessText(timer)}.`,
        sinceMs: finishedAt(timer),
        todo: [],
      }
    case "cancelled":
      return {
        status: "cancelled",
        why: "It will not fire.",
        sinceMs: finishedAt(timer),
        todo: [],
      }
    case "dead":
      return ofDead(timer)
  }
}

const ofPending = (timer: Timer, service: ServiceState): Explanation => {
  const { waiting, updatedAt } = timer
  const fireAt = timer.fireAt ?? timer.executeAt
  if (waiting !== undefined) {
    return { status: "waiting", why: waiting.detail, sinceMs: waiting.since, todo: todoOf(timer, service) }
  }
  if (fireAt <= service.now) {
    return {
      status: "starting",
      why: "Either it is about to start, or the node that owns it did not answer.",
      sinceMs: Math.max(fireAt, updatedAt),
      todo: [
        `Ask again: punctual explain ${keyText(timer)}`,
        "See whether every shard has an owner: punctual cluster",
      ],
    }
  }
  const when = `at ${formatInstant(fireAt)}, in ${spanShown(fireAt - service.now)}`
  if (timer.attempts === 0) {
    return { status: "notDue", why: `It is due ${when}.`, todo: [] }
  }
  return {
    status: "waitingForRetry",
    why: `Attempt ${timer.attempts} failed. Attempt ${timer.attempts + 1} of ${attemptsIn(timer.retryPolicy)} starts ${when}.${lastText(timer)}`,
    todo: [
      `Do not wait: punctual timers update ${keyText(timer)} --delay 0s starts it at once, with all its attempts.`,
    ],
  }
}

const ofFlight = (timer: Timer, nowMs: number): Explanation => {
  const { target, attempts, retryPolicy } = timer
  const sinceMs = timer.attemptStartedAt ?? timer.executeAt
  const end =
    target.type === "webhook" ? ` It ends after ${formatDuration(target.timeoutMs)} at the latest.` : ""
  return {
    status: "inFlight",
    why: `Attempt ${attempts + 1} of ${attemptsIn(retryPolicy)} has been running for ${spanShown(Math.max(0, nowMs - sinceMs))}.${end}`,
    sinceMs,
    todo: [],
  }
}

const ofDead = (timer: Timer): Explanation => ({
  status: "dead",
  why: `${deathText(timer)}${lastText(timer)}`,
  sinceMs: finishedAt(timer),
  todo: [
    `When the cause is gone, fire it again: punctual dead replay ${keyText(timer)}`,
    `Or remove it for good: punctual dead discard ${keyText(timer)}`,
  ],
})

const deathText = ({ reason, attempts, expireAfterMs, retryPolicy }: Timer): string => {
  switch (reason) {
    case "attemptsExhausted":
      return attempts === 1 ? "Its only attempt failed." : `All of its ${attempts} attempts failed.`
    case "durationExhausted": {
      const { maxDurationMs } = retryPolicy
      const within = maxDurationMs === undefined ? "" : ` of ${formatDuration(maxDurationMs)}`
      return `Attempt ${attempts} failed, and the next one would have been after its maxDuration${within}.`
    }
    case "expired": {
      const within = expireAfterMs === undefined ? "its expireAfter" : formatDuration(expireAfterMs)
      return `It expired: its first attempt could not start within ${within}.`
    }
    case "refused":
      return "The target refused it for good."
    case "egressRefused":
      return "The rules of TIMER_EGRESS do not allow its address."
    case "invalidTarget":
      return "Its target cannot be called."
    default:
      return `The reason is ${reason ?? "not known"}.`
  }
}

/** What removes the reason for which a due timer waits. */
const todoOf = (timer: Timer, { pause }: ServiceState): ReadonlyArray<string> => {
  const { namespace, target } = timer
  switch (timer.waiting?.reason) {
    case "paused":
      return [`Resume the namespace: punctual namespaces put ${namespace} --unpaused`]
    case "servicePaused":
      return pause?.kind === "restored"
        ? [
            "Fire everything that is overdue: punctual resume --fire-overdue",
            "Or stop the service and decide about overdue timers: punctual restore --due-before now fire|dead|discard",
          ]
        : ["Resume firing: punctual resume"]
    case "breaker":
      return [
        `Check that the target answers. The service tries it again by itself, and no attempt is used up meanwhile.`,
        `To try it now, on the node that owns the timer: punctual breakers reset ${hostOf(target)}`,
      ]
    case "congested":
      return [
        "It starts when earlier deliveries have ended. Faster answers of the target help most.",
        `Or raise the limit that is named above. A TIMER_ setting needs a restart; maxInFlight is set by: punctual namespaces put ${namespace} --max-in-flight N`,
      ]
    case "noSubscriber":
      return [
        target.type === "event"
          ? "Set TIMER_BROKER_URL, or subscribe to DueTimeReached in the program that runs the service."
          : `Register a handler in the program: punctual.on("${namespace}", …)`,
      ]
    case "sealed":
      return [
        "Start the service with the key that sealed the secrets: TIMER_SECRET_KEY=<key>, or <new key>,<old key>.",
        `Or replace the secrets: punctual namespaces put ${namespace} --new-secret`,
      ]
    default:
      return []
  }
}

/** Quoted for a shell where that is needed. */
const keyText = ({ namespace, timerId }: Timer): string =>
  `${namespace} ${/^[\w.:@%+,/=-]+$/.test(timerId) ? timerId : `'${timerId.replaceAll("'", `'\\''`)}'`}`

/** As `punctual breakers list` shows it: with the port, also where that is the usual one. */
const hostOf = (target: Timer["target"]): string => {
  if (target.type !== "webhook") return target.type === "event" ? "bus" : target.type
  const url = URL.parse(target.url)
  if (url === null) return "HOST"
  return `${url.hostname}:${url.port !== "" ? url.port : url.protocol === "https:" ? 443 : 80}`
}

const lastText = ({ lastAttempt }: Timer): string =>
  lastAttempt === undefined ? "" : ` The last attempt: ${attemptText(lastAttempt)}.`

const latenessText = ({ latenessMs }: Timer): string =>
  latenessMs === undefined ? "" : `, ${spanShown(latenessMs)} late`

const finishedAt = (timer: Timer): number => timer.finishedAt ?? timer.updatedAt
