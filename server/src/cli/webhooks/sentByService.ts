// A test delivery that the service sends: a real timer of the namespace, due now, followed until its first attempt has an
// outcome. So everything takes part that takes part in a real delivery: the secrets of the namespace, the egress rules,
// the breaker, the network of the service.
//
// A second attempt is allowed by the policy and never made: so an answer that asks for a retry is judged as one, and
// leaves no dead letter. The timer is cancelled when the first attempt is over; if the command is killed before that,
// `expireAfter` ends the timer without another call.

import { CreateTimerAnswer } from "@punctual/api/CreateTimer"
import { DeleteTimerAnswer } from "@punctual/api/DeleteTimer"
import { formatDuration } from "@punctual/api/DurationMs"
import { TimerAnswer } from "@punctual/api/GetTimer"
import { formatInstant } from "@punctual/api/Instant"
import { defaultLimits } from "@punctual/api/Limits"
import { NamespaceAnswer } from "@punctual/api/NamespaceSettings"
import { DiscardTimersAnswer } from "@punctual/api/ReplayTimers"
import { Clock, Effect } from "effect"
import { callService, JsonText } from "../client/ServiceClient.ts"
import type { CommandFailed } from "../frame/CommandRuntime.ts"
import type { TestOutcome } from "./TestOutcome.ts"

export interface ServiceTest {
  /** Where the service is. */
  readonly serviceUrl: string
  readonly namespace: string
  readonly url: string
  /** JSON. */
  readonly payload: string
  readonly timerId: string
  /** How long to wait for an outcome. */
  readonly withinMs?: number
}

/** The longest that an attempt takes, and some for a service that has much to do. */
const outcomeWithinMs = defaultLimits.timeoutDefaultMs + 10_000
const firstLookMs = 50
const longestLookMs = 1_000

type Timer = TimerAnswer["timer"]

export const sentByService = (test: ServiceTest): Effect.Effect<TestOutcome, CommandFailed> =>
  Effect.gen(function* () {
    const { serviceUrl, namespace, url, payload, timerId } = test
    const key = { namespace, timerId }
    const { value: set } = yield* callService(serviceUrl, {
      path: "/namespaces/get",
      fields: { namespace },
      answer: NamespaceAnswer,
    })
    const { value: created } = yield* callService(serviceUrl, {
      path: "/timers/create",
      fields: {
        ...key,
        delay: "0s",
        callbackUrl: url,
        payload: new JsonText(payload),
        retryPolicy: { maxAttempts: 2, initialInterval: "1h", maxInterval: "1h", jitter: 0 },
        expireAfter: "1m",
        onExisting: "fail",
      },
      answer: CreateTimerAnswer,
    })
    const { fireId } = created.timer
    const seen = yield* followed(test, fireId).pipe(Effect.ensuring(Effect.ignore(removed(serviceUrl, key))))
    const fingerprints = set.settings.webhookSecrets.map(({ fingerprint }) => fingerprint)
    return {
      ...outcomeOf(seen, fireId),
      signed:
        fingerprints.length === 0
          ? `no: ${namespace} has no secret`
          : `by the secrets of ${namespace} (${fingerprints.join(", ")})`,
    }
  })

interface Seen {
  readonly timer: Timer
  /** Why it waits, in the service's words, if it does. */
  readonly waiting?: string
}

/** The timer once it has an outcome, or as it is when the time is over. */
const followed = (
  { serviceUrl, namespace, timerId, withinMs = outcomeWithinMs }: ServiceTest,
  fireId: string,
): Effect.Effect<Seen, CommandFailed> =>
  Effect.gen(function* () {
    const endMs = (yield* Clock.currentTimeMillis) + withinMs
    for (let lookMs = firstLookMs; ; lookMs = Math.min(lookMs * 2, longestLookMs)) {
      const { value, text } = yield* callService(serviceUrl, {
        path: "/timers/get",
        fields: { namespace, timerId },
        answer: TimerAnswer,
      })
      const { timer } = value
      const isOver =
        timer.fireId !== fireId || timer.lastAttempt !== undefined || timer.finishedAt !== undefined
      const waiting = waitingIn(text)
      if (isOver || (yield* Clock.currentTimeMillis) >= endMs) {
        return { timer, ...(waiting === undefined ? {} : { waiting }) }
      }
      yield* Effect.sleep(lookMs)
    }
  })

/** A service may say why a timer waits. */
const waitingIn = (text: string): string | undefined => {
  const { timer } = JSON.parse(text) as {
    readonly timer: { readonly waiting?: { readonly detail?: unknown } }
  }
  const detail = timer.waiting?.detail
  return typeof detail === "string" ? detail : undefined
}

const outcomeOf = ({ timer, waiting }: Seen, fireId: string): Omit<TestOutcome, "signed"> => {
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
      detail: "by default after 5 s, then 20 s and so on, 10 attempts in all",
      ...attempt,
    }
  }
  return {
    verdict: "notSent",
    detail:
      waiting ??
      (state === "inFlight"
        ? "the attempt is still under way"
        : `no attempt within ${formatDuration(outcomeWithinMs)}: is the service or the namespace paused, or the host failing?`),
  }
}

/** Nothing of the test stays: neither a pending timer nor a dead letter. History keeps its outcome for a time. */
const removed = (serviceUrl: string, key: { readonly namespace: string; readonly timerId: string }) =>
  Effect.andThen(
    callService(serviceUrl, { path: "/timers/delete", fields: key, answer: DeleteTimerAnswer }),
    callService(serviceUrl, { path: "/timers/discard", fields: key, answer: DiscardTimersAnswer }),
  )
