// `punctual clock`: the time of a service that was started with a manual clock, for those who test against it.
import { AdvanceClockAnswer } from "@punctual/api/AdvanceClock"
import { parseDuration } from "@punctual/api/DurationMs"
import { formatInstant } from "@punctual/api/Instant"
import { ServiceAnswer } from "@punctual/api/Service"
import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import { longestAdvanceMs } from "../../engine/clock/ClockAdvance.ts"
import {
  answerValue,
  type CommandInput,
  callService,
  type RequestFields,
  serviceFlags,
} from "../client/ServiceClient.ts"
import { CommandFailed, type CommandRun, misuse, Output } from "../frame/CommandRuntime.ts"
import { countOf } from "../frame/figures.ts"
import { countFlag, countGiven, durationFlag, instantFlag } from "../timers/TimerFlags.ts"

export const clockCommand = (input: CommandInput) =>
  Command.make("clock").pipe(
    Command.withDescription("The clock of a service that was started with TIMER_CLOCK=manual."),
    Command.withShortDescription("Move the clock of a service under test"),
    Command.withSubcommands([advanceCommand(input)]),
  )

const advanceCommand = (input: CommandInput) =>
  Command.make(
    "advance",
    {
      by: durationFlag("by", "How far"),
      to: instantFlag("to", "Where to"),
      maxFirings: countFlag("max-firings", "Stop once this many attempts were made"),
      ...serviceFlags(input),
    },
    ({ by, to, maxFirings, url, json }): CommandRun => {
      if (countGiven(Option.isSome(by), Option.isSome(to)) !== 1) {
        return Effect.fail(misuse(["clock", "advance"], "Say how far: --by a duration, or --to an instant."))
      }
      return Effect.gen(function* () {
        const goal = Option.isSome(to)
          ? to.value
          : yield* instantAfter(
              url,
              Option.getOrElse(by, () => ""),
            )
        const bound = Option.getOrUndefined(maxFirings)
        const moved = yield* advanced(url, { to: goal, maxFirings: bound }, bound === undefined)
        const now = formatInstant(moved.nowMs)
        if (json) {
          yield* answerValue({ now, fired: moved.fired, ...(moved.more ? { more: true } : {}) })
        } else {
          yield* (yield* Output).answer(`The clock is at ${now}; ${countOf(moved.fired, "attempt")}.`)
        }
        if (moved.more) {
          return yield* new CommandFailed({ message: `the clock has not come to ${goal}: call it again.` })
        }
      })
    },
  ).pipe(
    Command.withDescription(
      [
        "Move the clock. All that comes due on the way fires at its own instant before this ends.",
        "  The exit code is 1 if the clock did not come to where it was sent, as with --max-firings.",
      ].join("\n"),
    ),
    Command.withShortDescription("Move the clock"),
    Command.withExamples([
      { command: "punctual clock advance --by 31d" },
      { command: "punctual clock advance --to 2030-01-01T09:00:00Z" },
    ]),
  )

/** A call may end on the way and has to be repeated; by its end, a duration would no longer say where to. */
const instantAfter = (url: string, by: string): Effect.Effect<string, CommandFailed> =>
  Effect.map(callService(url, { path: "/service/get", fields: {}, answer: ServiceAnswer }), ({ value }) =>
    formatInstant(value.now + (parseDuration(by) ?? 0)),
  )

/** A service ends such a call by itself before that. */
export const advanceWithinMs = longestAdvanceMs + 10_000

const advanced = (url: string, fields: RequestFields, isRepeated: boolean) =>
  Effect.gen(function* () {
    const { remark } = yield* Output
    let fired = 0
    let nowMs: number | undefined
    for (;;) {
      const { value } = yield* callService(url, {
        path: "/clock/advance",
        fields,
        answer: AdvanceClockAnswer,
        withinMs: advanceWithinMs,
      })
      const isMoved = value.fired > 0 || value.now !== nowMs
      fired += value.fired
      nowMs = value.now
      if (value.more !== true) return { nowMs, fired, more: false }
      // One that neither moved nor fired would be followed by the same one for ever.
      if (!isRepeated || !isMoved) return { nowMs, fired, more: true }
      yield* remark(`${formatInstant(nowMs)}, ${countOf(fired, "attempt")} …`)
    }
  })
