/** Why a due timer has not started. It is worked out when somebody asks, and never stored. */
import { Schema } from "effect"
import { Instant } from "./Instant.ts"

/** Newer services may know more reasons. */
export const waitingReasons = [
  "paused",
  "servicePaused",
  "breaker",
  "congested",
  "noSubscriber",
  "sealed",
] as const

export const WaitingSchema = Schema.Struct({
  reason: Schema.Literals(waitingReasons).annotate({
    description: [
      "paused: the namespace is paused.",
      "servicePaused: all firing is paused, by an operator or after a restore.",
      "breaker: the host failed too often in a row.",
      "congested: the deliveries that may run at once are all running.",
      "noSubscriber: nobody is there to take it.",
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
    description: "The same in words, with the host, the limit or the setting.",
  }),
}).annotate({
  identifier: "Waiting",
  description:
    "Why a due timer has not started. A timer that is not due, one that waits for its next attempt and one in flight have none.",
})
