// `punctual timers activity`: what happened over time, as a table.
import { formatInstant } from "@punctual/api/Instant"
import { ActivityAnswer } from "@punctual/api/TimerActivity"
import { Clock, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { answerJson, type CommandInput, callService, serviceFlags } from "../client/ServiceClient.ts"
import { Output } from "../frame/CommandRuntime.ts"
import { textTable } from "../frame/textTable.ts"
import { durationFlag, instantFlag, namespacesArgument } from "./TimerFlags.ts"

const dayMs = 86_400_000

/** An attempt that is later than this counts as late in the table. */
const lateAboveMs = 1_000

export const activityCommand = (input: CommandInput) =>
  Command.make(
    "activity",
    {
      namespaces: namespacesArgument.pipe(
        Argument.withDescription("The namespace, or several: a,b or 'team-*'; all if it is left out"),
        Argument.optional,
      ),
      from: instantFlag("from", "The beginning (default: a day before the end)"),
      until: instantFlag("until", "The end (default: now)"),
      step: durationFlag("step", "The length of a row, such as 1m, 15m, 1h or 1d (default 1h)"),
      by: Flag.Literals("by", ["namespace", "host"]).pipe(
        Flag.withMetavar("WHAT"),
        Flag.withDescription("Also show how late the busiest namespaces or hosts were: namespace, host"),
        Flag.optional,
      ),
      ...serviceFlags(input),
    },
    ({ namespaces, from, until, step, by, service, json }) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const end = Option.getOrElse(until, () => formatInstant(now))
        const { value, text } = yield* callService(service, {
          path: "/timers/activity",
          fields: {
            namespaces: Option.getOrUndefined(namespaces),
            from: Option.getOrElse(from, () => formatInstant(Date.parse(end) - dayMs)),
            until: end,
            step: Option.getOrElse(step, () => "1h"),
            by: Option.getOrUndefined(by),
          },
          answer: ActivityAnswer,
        })
        if (json) return yield* answerJson(text)
        const { answer, remark } = yield* Output
        yield* answer(activityText(value))
        for (const line of remarksOf(value)) yield* remark(line)
      }),
  ).pipe(
    Command.withDescription(
      [
        "Show how many timers were created, delivered, retried, dead and cancelled in each step of time, and how many first",
        "  attempts were more than a second late. Steps without any activity are left out.",
      ].join("\n"),
    ),
    Command.withShortDescription("Count what happened over time"),
    Command.withExamples([
      { command: "punctual timers activity" },
      { command: "punctual timers activity billing --step 5m --from 2030-01-01T09:00:00Z" },
      { command: "punctual timers activity --by host" },
    ]),
  )

const activityText = ({ points, series, latenessUpToMs }: ActivityAnswer): string => {
  if (points.length === 0) return "Nothing happened in this time."
  const late = (lateness: ReadonlyArray<number> | undefined): string => {
    if (lateness === undefined) return "-"
    const first = latenessUpToMs.findIndex((bound) => bound > lateAboveMs)
    return String(sumOf(first === -1 ? lateness.slice(-1) : lateness.slice(first)))
  }
  const rows = points.map(({ at, created, delivered, retried, dead, cancelled, lateness }) => [
    formatInstant(at),
    ...[created, delivered, retried, dead, cancelled].map(String),
    late(lateness),
  ])
  const table = textTable([
    ["AT", "CREATED", "DELIVERED", "RETRIED", "DEAD", "CANCELLED", "LATE >1S"],
    ...rows,
  ])
  if (series === undefined || series.length === 0) return table
  const named = series.map(({ name, points: counted }) => {
    const lateness = counted.map((point) => point.lateness)
    const lateOnes = lateness.reduce((sum, buckets) => sum + Number(late(buckets)), 0)
    return [name, String(sumOf(lateness.flat())), String(lateOnes)]
  })
  return `${table}\n\n${textTable([["NAME", "FIRST ATTEMPTS", "LATE >1S"], ...named])}`
}

const remarksOf = ({ missing, partial }: ActivityAnswer): ReadonlyArray<string> => [
  ...(missing.length === 0 ? [] : [`The last minutes of ${missing.join(", ")} are missing: no answer.`]),
  ...(partial === true ? ["There were so many namespaces that some were counted only together."] : []),
]

const sumOf = (counts: ReadonlyArray<number>): number => counts.reduce((sum, count) => sum + count, 0)
