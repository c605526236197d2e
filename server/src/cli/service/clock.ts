// `punctual clock`: moves the manual clock of a service under test.
import { AdvanceClockAnswer } from "@punctual/api/AdvanceClock"
import { parseDuration } from "@punctual/api/DurationMs"
import { formatInstant } from "@punctual/api/Instant"
import { ServiceAnswer } from "@punctual/api/Service"
import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import { longestAdvanceMs } from "../../engine/clock/ClockAdvance.ts"
import type { ServiceAddress } from "../client/ServiceAddress.ts"
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
    Command.withDescription("Control the clock of a service that was started with TIMER_CLOCK=manual."),
    Command.withShortDescription("Move the clock of a service under test"),
    Command.withSubcommands([advanceCommand(input)]),
  )

const advanceCommand = (input: CommandInput) =>
  Command.make(
    "advance",
    {
      by: durationFlag("by", "Move the clock by this duration"),
      to: instantFlag("to", "Move the clock to this instant"),
      maxFirings: countFlag("max-firings", "Stop after this many attempts"),
      ...serviceFlags(input),
    },
    ({ by, to, maxFirings, service, json }): CommandRun => {
      if (countGiven(Option.isSome(by), Option.isSome(to)) !== 1) {
        return Effect.fail(misuse(["clock", "advance"], "Give either --by or --to."))
      }
      return Effect.gen(function* () {
        const goal = Option.isSome(to)
          ? to.value
          : yield* instantAfter(
              service,
              Option.getOrElse(by, () => ""),
            )
        const bound = Option.getOrUndefined(maxFirings)
        const moved = yield* advanced(service, { to: goal, maxFirings: bound }, bound === undefined)
        const now = formatInstant(moved.nowMs)
        if (json) {
          yield* answerValue({ now, fired: moved.fired, ...(moved.more ? { more: true } : {}) })
        } else {
          yield* (yield* Output).answer(`The clock is at ${now}; ${countOf(moved.fired, "attempt")}.`)
        }
        if (moved.more) {
          return yield* new CommandFailed({
            message: `the clock has not reached ${goal}: run the command again.`,
          })
        }
      })
    },
  ).pipe(
    Command.withDescription(
      [
        "Move the clock. Timers that become due on the way fire at their own instants before the command ends.",
        "  The exit code is 1 if the clock did not reach its goal, for example because of --max-firings.",
      ].join("\n"),
    ),
    Command.withShortDescription("Move the clock"),
    Command.withExamples([
      { command: "punctual clock advance --by 31d" },
      { command: "punctual clock advance --to 2030-01-01T09:00:00Z" },
    ]),
  )

/** A call may stop on the way and must then be repeated. A repeated duration would move the clock too far. */
const instantAfter = (service: ServiceAddress, by: string): Effect.Effect<string, CommandFailed> =>
  Effect.map(callService(service, { path: "/service/get", fields: {}, answer: ServiceAnswer }), ({ value }) =>
    formatInstant(value.now + (parseDuration(by) ?? 0)),
  )

/** The service ends the call by itself before this time. */
export const advanceWithinMs = longestAdvanceMs + 10_000

const advanced = (service: ServiceAddress, fields: RequestFields, isRepeated: boolean) =>
  Effect.gen(function* () {
    const { remark } = yield* Output
    let fired = 0
    let nowMs: number | undefined
    for (;;) {
      const { value } = yield* callService(service, {
        path: "/clock/advance",
        fields,
        answer: AdvanceClockAnswer,
        withinMs: advanceWithinMs,
      })
      const isMoved = value.fired > 0 || value.now !== nowMs
      fired += value.fired
      nowMs = value.now
      if (value.more !== true) return { nowMs, fired, more: false }
      // If a call neither moved the clock nor fired a timer, repeating it would never end.
      if (!isRepeated || !isMoved) return { nowMs, fired, more: true }
      yield* remark(`${formatInstant(nowMs)}, ${countOf(fired, "attempt")} …`)
    }
  })
