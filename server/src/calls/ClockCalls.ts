// The clock of a service under test. Only a manual clock can be moved.
import { type AdvanceClock, type AdvanceClockAnswer, maxFiringsDefault } from "@punctual/api/AdvanceClock"
import { formatInstant } from "@punctual/api/Instant"
import { invalidField } from "@punctual/api/invalidRequest"
import { ClockNotManual, Overloaded, type Problem } from "@punctual/api/Problem"
import { Effect } from "effect"
import type { AdvanceCommand, ClockAdvance } from "../engine/clock/ClockAdvance.ts"
import { Engine } from "../engine/Engine.ts"
import type { Asked, Call } from "./Call.ts"
import { refuse } from "./problemOf.ts"

export interface ClockCalls {
  readonly advance: Call<AdvanceClock, AdvanceClockAnswer>
}

export const makeClockCalls: Effect.Effect<ClockCalls, never, Engine> = Effect.map(Engine, ({ clock }) => ({
  advance: (asked) => (clock === undefined ? Effect.fail(notManual()) : advance(clock, asked)),
}))

const advance = (
  clock: ClockAdvance,
  { body, note }: Asked<AdvanceClock>,
): Effect.Effect<AdvanceClockAnswer, Problem> => {
  note?.({ before: { now: formatInstant(clock.nowMs) } })
  return Effect.matchEffect(clock.advance(commandOf(body)), {
    onFailure: (error): Effect.Effect<never, Problem> => {
      switch (error._tag) {
        case "InvalidAdvance":
          return Effect.fail(invalidField(body.by === undefined ? "/to" : "/by", error.message))
        case "ClockBusy":
          return Effect.fail(busy())
        case "StoreError":
          return refuse(error)
      }
    },
    onSuccess: ({ nowMs, fired, isUnfinished }) => {
      note?.({ after: { now: formatInstant(nowMs) }, count: fired })
      return Effect.succeed({ now: nowMs, fired, ...(isUnfinished ? { more: true as const } : {}) })
    },
  })
}

const commandOf = ({ by, to, maxFirings = maxFiringsDefault }: AdvanceClock): AdvanceCommand => {
  if (by !== undefined) return { to: { byMs: by }, maxFirings }
  if (to !== undefined) return { to: { untilMs: to }, maxFirings }
  throw new Error("an advance without a time has passed its schema")
}

const notManual = (): Problem =>
  new ClockNotManual({
    detail:
      "The service uses the system clock. To move the time in tests, start the service with TIMER_CLOCK=manual or manual:<instant>.",
  })

const busy = (): Problem =>
  new Overloaded({
    detail: "Another call is moving the clock, or the service is stopping. The clock was not moved: retry.",
    retryAfterSeconds: 1,
    written: "no",
  })
