/**
 * `/clock/advance`: moves the manual clock of a service, so that a test need not wait for its timers. The service fires
 * the timers that become due on the way, and stores the outcomes, before it answers.
 */
import { Schema } from "effect"
import { Count } from "./Count.ts"
import { DurationMs } from "./DurationMs.ts"
import { described } from "./described.ts"
import { Instant } from "./Instant.ts"
import { exactlyOneOf } from "./oneOf.ts"

export const maxFiringsDefault = 10_000
/** A move stops by itself after four minutes and says how far it came. Its last attempts may take another minute. */
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
          description: `The clock stops after the instant at which this many attempts were made (default ${maxFiringsDefault}). All attempts of one instant run together, so there may be more.`,
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
  now: Instant.pipe(described("The time of the clock after the move.")),
  fired: Count.annotate({
    description:
      "How many attempts ended and were stored during the move: successful ones, failed ones and retries.",
  }),
  more: Schema.optionalKey(
    Schema.Literal(true).annotate({
      description:
        "Present if the clock has not reached its goal, because of maxFirings or because the call took too long. Repeat the call.",
    }),
  ),
}).annotate({
  identifier: "AdvanceClockAnswer",
  description: "The time of the clock, and how many attempts were made.",
})

export type AdvanceClockAnswer = typeof AdvanceClockAnswer.Type
