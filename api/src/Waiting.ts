/** Why a due timer has not started. The service finds this out at each request and never stores it. */
import { Schema } from "effect"
import { Instant } from "./Instant.ts"

/** Newer services may have more reasons. */
export const waitingReasons = [
  "paused",
  "servicePaused",
  "breaker",
  "congested",
  "egressRefused",
  "noSubscriber",
  "sealed",
] as const

export const WaitingSchema = Schema.Struct({
  reason: Schema.Literals(waitingReasons).annotate({
    description: [
      "paused: the namespace is paused.",
      "servicePaused: all firing is paused, by an operator or after a restore.",
      "breaker: the host failed too often in a row.",
      "congested: as many deliveries as allowed are already running.",
      "egressRefused: the egress rules of the service (TIMER_EGRESS) do not allow the address of the target. The service checks it again every 5 minutes and after a start.",
      "noSubscriber: there is no subscriber or handler for the timer.",
      "sealed: the namespace's webhook secrets cannot be opened, so nothing can be signed.",
      "More reasons may follow.",
    ].join(" "),
  }),
  since: Instant.pipe(
    Schema.annotateEncoded({
      description: "When the cause began or the timer became due, whichever is later.",
    }),
  ),
  detail: Schema.String.annotate({
    description: "The reason in words, with the host, the limit or the setting.",
  }),
}).annotate({
  identifier: "Waiting",
  description:
    "Why a due timer has not started. It is absent if the timer is not due, waits for its next attempt, or is in flight.",
})
