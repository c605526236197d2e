// A test delivery that the service sends: a real timer of the namespace, due now. The command watches it until its
// first attempt has an outcome. So every part of a real delivery is involved: the secrets of the namespace, the egress
// rules, the breaker and the network of the service.
//
// The retry policy allows a second attempt, an hour later. So an answer that asks for a retry is judged as a retry and
// leaves no dead letter. The command cancels the timer when it sees the first attempt. A second attempt happens only if
// the command is killed before that, or if a receiver asks for the next attempt (`nextDelay`) so soon that it starts
// before the cancel. `expireAfter` and `onExpire` end a timer whose first attempt could not start, if the command is
// killed while it waits.
//
// If the egress rules refuse the address, the timer waits, and the command says so. If the receiver refuses the delivery
// permanently, the test timer dies like any other timer. The
// contract has no way to exclude one timer from the `onDead` of its namespace, so the service calls it. The outcome
// says so.

import { CreateTimerAnswer } from "@punctual/api/CreateTimer"
import { DeleteTimerAnswer } from "@punctual/api/DeleteTimer"
import { formatDuration } from "@punctual/api/DurationMs"
import { TimerAnswer } from "@punctual/api/GetTimer"
import { formatInstant } from "@punctual/api/Instant"
import { defaultLimits } from "@punctual/api/Limits"
import { NamespaceAnswer } from "@punctual/api/NamespaceSettings"
import { DiscardTimersAnswer } from "@punctual/api/ReplayTimers"
import { RawJson } from "@punctual/client"
import { Clock, Effect } from "effect"
import type { ServiceAddress } from "../client/ServiceAddress.ts"
import { callService } from "../client/ServiceClient.ts"
import type { CommandFailed } from "../frame/CommandRuntime.ts"
import type { TestOutcome } from "./TestOutcome.ts"

export interface ServiceTest {
  /** The URL of the service. */
  readonly service: ServiceAddress
  readonly namespace: string
  readonly url: string
  /** JSON. */
  readonly payload: string
  readonly timerId: string
  /** How long to wait for an outcome. */
  readonly withinMs?: number
}

/** The longest time of an attempt, and some more for a busy service. */
const outcomeWithinMs = defaultLimits.timeoutDefaultMs + 10_000
const firstLookMs = 50
/** Shorter than the shortest `nextDelay`, so that the cancel usually comes before a second attempt. */
const longestLookMs = 250

type Timer = TimerAnswer["timer"]

export const sentByService = (test: ServiceTest): Effect.Effect<TestOutcome, CommandFailed> =>
  Effect.gen(function* () {
    const { service, namespace, url, payload, timerId } = test
    const key = { namespace, timerId }
    const { value: set } = yield* callService(service, {
      path: "/namespaces/get",
      fields: { namespace },
      answer: NamespaceAnswer,
    })
    const { value: created } = yield* callService(service, {
      path: "/timers/create",
      fields: {
        ...key,
        delay: "0s",
        callbackUrl: url,
        payload: new RawJson(payload),
        retryPolicy: { maxAttempts: 2, initialInterval: "1h", maxInterval: "1h", jitter: 0 },
        expireAfter: "1m",
        onExpire: "drop",
        onExisting: "fail",
      },
      answer: CreateTimerAnswer,
    })
    const { fireId } = created.timer
    const timer = yield* followed(test, fireId).pipe(Effect.ensuring(Effect.ignore(removed(service, key))))
    const fingerprints = set.settings.webhookSecrets.map(({ fingerprint }) => fingerprint)
    const outcome = outcomeOf(timer, fireId)
    return {
      ...outcome,
      ...(set.settings.onDead === undefined ? {} : { onDead: onDeadText(outcome, namespace) }),
      signed:
        fingerprints.length === 0
          ? `no: ${namespace} has no secret`
          : `with the secrets of ${namespace} (${fingerprints.join(", ")})`,
    }
  })

const onDeadText = ({ verdict }: Pick<TestOutcome, "verdict">, namespace: string): string =>
  verdict === "dead"
    ? `called: the test timer died, so the service calls the onDead target of ${namespace} for it`
    : `not called: the test timer did not die, so the service does not call the onDead target of ${namespace}`

/** The timer when it has an outcome, or its state when the time is over. */
const followed = (
  { service, namespace, timerId, withinMs = outcomeWithinMs }: ServiceTest,
  fireId: string,
): Effect.Effect<Timer, CommandFailed> =>
  Effect.gen(function* () {
    const endMs = (yield* Clock.currentTimeMillis) + withinMs
    for (let lookMs = firstLookMs; ; lookMs = Math.min(lookMs * 2, longestLookMs)) {
      const { value } = yield* callService(service, {
        path: "/timers/get",
        fields: { namespace, timerId },
        answer: TimerAnswer,
      })
      const { timer } = value
      const isOver =
        timer.fireId !== fireId ||
        timer.lastAttempt !== undefined ||
        timer.finishedAt !== undefined ||
        timer.waiting?.reason === "egressRefused"
      if (isOver || (yield* Clock.currentTimeMillis) >= endMs) return timer
      yield* Effect.sleep(lookMs)
    }
  })

const outcomeOf = (timer: Timer, fireId: string): Omit<TestOutcome, "signed"> => {
  if (timer.fireId !== fireId) {
    return { verdict: "armedAgain", detail: `at ${formatInstant(timer.executeAt)}` }
  }
  const { lastAttempt, state, reason } = timer
  const attempt = {
    ...(lastAttempt?.status === undefined ? {} : { status: lastAttempt.status }),
    ...(lastAttempt?.error === undefined ? {} : { error: lastAttempt.error }),
    ...(lastAttempt === undefined ? {} : { durationMs: lastAttempt.durationMs }),
  }
  if (state === "delivered") return { verdict: "delivered", ...attempt }
  if (state === "dead")
    return { verdict: "dead", ...attempt, ...(reason === undefined ? {} : { detail: reason }) }
  if (lastAttempt !== undefined) {
    return {
      verdict: "retry",
      detail: "by default after 5 s, then 20 s and so on, 10 attempts in total",
      ...attempt,
    }
  }
  const { waiting, target } = timer
  if (waiting?.reason === "egressRefused") {
    // The rest of the detail is about later checks. This timer is about to be cancelled.
    const [refusal] = waiting.detail.split(". ")
    const url = target.type === "webhook" ? target.url : "URL"
    return { verdict: "notSent", detail: `${refusal}. See punctual egress check ${url}` }
  }
  return {
    verdict: "notSent",
    detail:
      waiting?.detail ??
      (state === "inFlight"
        ? "the attempt is still in flight"
        : `no attempt within ${formatDuration(outcomeWithinMs)}: check whether the service or the namespace is paused, and whether the host fails`),
  }
}

/** Removes the pending timer or the dead letter of the test. The history keeps its outcome for a time. */
const removed = (service: ServiceAddress, key: { readonly namespace: string; readonly timerId: string }) =>
  Effect.andThen(
    callService(service, { path: "/timers/delete", fields: key, answer: DeleteTimerAnswer }),
    callService(service, { path: "/timers/discard", fields: key, answer: DiscardTimersAnswer }),
  )
