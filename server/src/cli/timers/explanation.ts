// Explains in words why a timer has not fired or how it ended, and what to do about it. Everything here follows from
// the timer as the service shows it.
import { formatDuration } from "@punctual/api/DurationMs"
import type { TimerAnswer } from "@punctual/api/GetTimer"
import { formatInstant } from "@punctual/api/Instant"
import type { ServiceAnswer } from "@punctual/api/Service"
import { countOf, spanShown } from "../frame/figures.ts"
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
  /** When this state began, in epoch milliseconds; `undefined` for timers that are not due. */
  readonly sinceMs?: number
  /** What the user can do: commands and settings. Empty if there is nothing to do. */
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
        why: cancelText(timer),
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
    todo: [`To fire it now, with all its attempts: punctual timers update --delay 0s ${keyText(timer)}`],
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
    `Fix the cause, then fire it again: punctual dead replay ${keyText(timer)}`,
    `Or remove it permanently: punctual dead discard ${keyText(timer)}`,
  ],
})

/** Why the service or a user cancelled the timer. */
const cancelText = ({ reason, expireAfterMs, attempts }: Timer): string => {
  switch (reason) {
    case undefined:
      return attempts === 0
        ? "It will not fire. If the answer to the cancel was inFlight, one call was already on its way."
        : `It had ${countOf(attempts, "attempt")}, so the receiver may have got a call. No other attempt follows.`
    case "expired":
      return `${expiryText(expireAfterMs)} Because onExpire is drop, it is not a dead letter. It will not fire.`
    case "notDead":
      return "It would have called onDead, but the timer that it was about did not die. So the service made no call."
    default:
      return `The reason is ${reason}. It will not fire.`
  }
}

const expiryText = (expireAfterMs: number | undefined): string => {
  const within = expireAfterMs === undefined ? "its expireAfter" : formatDuration(expireAfterMs)
  return `It expired: its first attempt could not start within ${within}. Possible causes: it was created too late, the service was down, its host failed, too many deliveries were running, or TIMER_EGRESS does not allow its address (punctual egress check URL).`
}

const deathText = ({ reason, attempts, expireAfterMs, retryPolicy }: Timer): string => {
  switch (reason) {
    case "attemptsExhausted":
      return attempts === 1 ? "Its only attempt failed." : `All of its ${attempts} attempts failed.`
    case "durationExhausted": {
      const { maxDurationMs } = retryPolicy
      const within = maxDurationMs === undefined ? "" : ` of ${formatDuration(maxDurationMs)}`
      return `Attempt ${attempts} failed, and the next one would have started after the end of its maxDuration${within}.`
    }
    case "expired":
      return expiryText(expireAfterMs)
    case "refused":
      return "The target refused it permanently."
    case "egressRefused":
      return "The rules of TIMER_EGRESS do not allow its address."
    case "invalidTarget":
      return "Its target cannot be called."
    default:
      return `The reason is ${reason ?? "not known"}.`
  }
}

/** What the user can do about the reason why a due timer waits. */
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
        `Check that the target answers. The service retries by itself, and this uses up no attempts.`,
        `To try it now, on the node that owns the timer: punctual breakers reset ${hostOf(target)}`,
      ]
    case "egressRefused":
      return [
        `See which entry of TIMER_EGRESS is missing: punctual egress check ${target.type === "webhook" ? target.url : "URL"}`,
        "Add the entry and restart the service, or give the timer another URL. The timer waits until the address is allowed, its expireAfter ends it, or you cancel it.",
      ]
    case "congested":
      return [
        "It starts when earlier deliveries have ended. A target that answers faster helps most.",
        `Or raise the limit that is named above. A TIMER_ setting needs a restart. To set maxInFlight: punctual namespaces put ${namespace} --max-in-flight N`,
      ]
    case "noSubscriber":
      return [
        target.type === "event"
          ? "Set TIMER_BROKER_URL, or subscribe to DueTimeReached in the program that runs the service."
          : `Register a handler in the program: punctual.on("${namespace}", …)`,
      ]
    case "sealed":
      return [
        "Give the service the key that sealed the secrets. If TIMER_SECRET_KEY is not set, put the file <store>.secret-key back: no restart is needed. Otherwise set TIMER_SECRET_KEY to <key>, or to <new key>,<old key>, and restart.",
        `If the key is lost, run this for each namespace that the log names, and set new secrets after that: punctual namespaces put ${namespace} --reset webhookSecrets`,
      ]
    default:
      return []
  }
}

/**
 * Namespace and id, the last words of a command, with shell quotes if they are needed. `--` comes first if the id begins like a
 * flag: `--all` as an id must not become the flag.
 */
const keyText = ({ namespace, timerId }: Timer): string => {
  const quoted = /^[\w.:@%+,/=-]+$/.test(timerId) ? timerId : `'${timerId.replaceAll("'", `'\\''`)}'`
  return timerId.startsWith("-") ? `-- ${namespace} ${quoted}` : `${namespace} ${quoted}`
}

/** The host as `punctual breakers list` shows it: always with the port. */
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
