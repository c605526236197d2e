/**
 * `/clock/advance`: moves the clock of a service that was started with a manual one, so that a test need not wait for
 * what it has scheduled. What comes due on the way is fired, and stored, before the call is answered.
 */
import { Schema } from "effect"
import { Count } from "./Count.ts"
import { DurationMs } from "./DurationMs.ts"
import { described } from "./described.ts"
import { Instant } from "./Instant.ts"
import { exactlyOneOf } from "./oneOf.ts"

export const maxFiringsDefault = 10_000
/** A move ends by itself after four minutes and says how far it has come; the last of its attempts may take a minute more. */
export const advanceAnswerWithinMs = 300_000

const maxFiringsMost = 1_000_000

const maxFiringsMessage = `must be a whole number from 1 to ${maxFiringsMost}`

export const AdvanceClock = Schema.Struct({
  by: Schema.optionalKey(DurationMs),
  to: Schema.optionalKey(Instant.pipe(described("The instant to move to. The clock never goes back."))),
  maxFirings: Schema.optionalKey(
    Schema.Number.annotate({ message: maxFiringsMessage }).check(
      Schema.isInt({ message: maxFiringsMessage }),
      Schema.isBetween(
        { minimum: 1, maximum: maxFiringsMost },
        {
          message: maxFiringsMessage,
          description: `After how many attempts no further instant is begun (${maxFiringsDefault} unless given). Those of one instant are made together.`,
        },
      ),
    ),
  ),
})
  .annotate({ message: "must be a JSON object", description: "Exactly one of by and to." })
  .check(exactlyOneOf("by", "to"))
  .annotate({ identifier: "AdvanceClock" })

export type AdvanceClock = typeof AdvanceClock.Type

export const AdvanceClockAnswer = Schema.Struct({
  now: Instant.pipe(described("Where the clock stands.")),
  fired: Count.annotate({
    description:
      "How many attempts ended and were stored meanwhile: deliveries, those that failed, and retries, each counted.",
  }),
  more: Schema.optionalKey(
    Schema.Literal(true).annotate({
      description:
        "Present when the clock has not come to where it was sent: maxFirings was reached, or the call took too long. Send it there again.",
    }),
  ),
}).annotate({ identifier: "AdvanceClockAnswer", description: "Where the clock stands, and what was fired." })

export type AdvanceClockAnswer = typeof AdvanceClockAnswer.Type
