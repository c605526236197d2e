// `punctual timers histogram`: when timers are due, as bars.
import { formatInstant, parseInstant } from "@punctual/api/Instant"
import { mostBuckets, TimerHistogramAnswer } from "@punctual/api/TimerHistogram"
import { Clock, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { answerJson, type CommandInput, callService, serviceFlags } from "../client/ServiceClient.ts"
import { type CommandRun, misuse, Output } from "../frame/CommandRuntime.ts"
import { countOf, countShown } from "../frame/figures.ts"
import { textTable } from "../frame/textTable.ts"
import {
  definedIn,
  filterFields,
  filterFlags,
  namespaceFields,
  namespacesArgument,
  reasonFlag,
  stateFields,
  statesFlag,
  wholeFlag,
  whyNotScope,
} from "./TimerFlags.ts"

const dayMs = 86_400_000

/** Without bounds the command shows the next 24 hours. With one bound it shows the 24 hours beside it. */
const spanOf = (
  from: Option.Option<string>,
  until: Option.Option<string>,
  nowMs: number,
): { readonly from: string; readonly until: string } => {
  const untilMs = Option.isSome(until) ? parseInstant(until.value) : undefined
  const fromMs = Option.isSome(from)
    ? parseInstant(from.value)
    : untilMs === undefined
      ? nowMs
      : untilMs - dayMs
  return {
    from: formatInstant(fromMs ?? nowMs),
    until: formatInstant(untilMs ?? (fromMs ?? nowMs) + dayMs),
  }
}

export const histogramCommand = (input: CommandInput) =>
  Command.make(
    "histogram",
    {
      namespaces: namespacesArgument,
      states: statesFlag,
      ...filterFlags,
      reason: reasonFlag,
      buckets: wholeFlag("buckets", 1, `a whole number from 1 to ${mostBuckets}`).pipe(
        Flag.withDescription("How many bars (default 24)"),
        Flag.withDefault(24),
      ),
      ...serviceFlags(input),
    },
    ({ namespaces, states, buckets, service, json, ...filter }): CommandRun => {
      const wrong = whyNotScope(namespaces, states, filter.reason)
      if (wrong !== undefined) return Effect.fail(misuse(["timers", "histogram"], wrong))
      return Effect.gen(function* () {
        const span = spanOf(filter.from, filter.until, yield* Clock.currentTimeMillis)
        const fields = { ...namespaceFields(namespaces), ...stateFields(states), ...filterFields(filter) }
        const { value, text } = yield* callService(service, {
          path: "/timers/histogram",
          fields: { filter: definedIn({ ...fields, ...span }), buckets },
          answer: TimerHistogramAnswer,
        })
        if (json) return yield* answerJson(text)
        const { answer, remark } = yield* Output
        yield* answer(`${barsOf(value)}\n${totalOf(value)}`)
        for (const line of remarksOf(value)) yield* remark(line)
      })
    },
  ).pipe(
    Command.withDescription(
      [
        "Show how many timers are due, or have finished, in each part of a span of time. The default is the next 24 hours.",
        "  Up to 100,000 timers are counted. Beyond that, pending timers by namespaces alone are estimated.",
      ].join("\n"),
    ),
    Command.withShortDescription("Show when timers are due"),
    Command.withExamples([
      { command: "punctual timers histogram billing" },
      {
        command:
          "punctual timers histogram '*' --from 2030-01-01T00:00:00Z --until 2030-02-01T00:00:00Z --buckets 31",
      },
    ]),
  )

const widestBar = 50

const barsOf = ({ from, until, counts }: TimerHistogramAnswer): string => {
  const most = Math.max(1, ...counts)
  return textTable([
    ["FROM", "TIMERS", ""],
    ...counts.map((count, index) => [
      formatInstant(Math.ceil(from + ((until - from) * index) / counts.length)),
      countShown(count),
      "█".repeat(Math.ceil((count * widestBar) / most)),
    ]),
  ])
}

const totalOf = ({ total, estimated, asOf }: TimerHistogramAnswer): string =>
  estimated
    ? `about ${countOf(total, "timer")}, estimated from counts since ${formatInstant(asOf)}`
    : countOf(total, "timer")

const remarksOf = ({
  capped,
  countedUntil,
  examined,
  missing,
}: TimerHistogramAnswer): ReadonlyArray<string> => [
  ...(countedUntil === undefined
    ? []
    : [`Counting stopped at ${formatInstant(countedUntil)}: timers from then on are left out.`]),
  ...(capped === true && countedUntil === undefined
    ? [
        examined === undefined
          ? "Some timers are left out."
          : `Counting stopped after ${countOf(examined, "timer")}: others are left out.`,
      ]
    : []),
  ...(missing === undefined
    ? []
    : [`These nodes did not answer, so their timers are left out: ${missing.join(", ")}`]),
]
