// `punctual dead`: timers that could not be delivered. They stay dead letters until someone replays or discards them.
// (`punctual messages` is about messages of the bus that could not be handled.)
import { formatInstant, parseInstant } from "@punctual/api/Instant"
import { CountTimersAnswer } from "@punctual/api/ListTimers"
import { DiscardTimersAnswer, ReplayTimersAnswer } from "@punctual/api/ReplayTimers"
import { Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import { type Batch, batchOf, countsText, type Repeating, repeatWhileMore } from "../client/Batches.ts"
import type { ServiceAddress } from "../client/ServiceAddress.ts"
import {
  answerValue,
  type CommandInput,
  callService,
  type RequestFields,
  serviceFlags,
} from "../client/ServiceClient.ts"
import { serviceNow } from "../client/serviceNow.ts"
import {
  CommandFailed,
  type CommandRun,
  misuse,
  Output,
  type OutputClosed,
  switchFlag,
} from "../frame/CommandRuntime.ts"
import {
  countGiven,
  definedIn,
  durationFlag,
  type Filter,
  filterFields,
  filterFlags,
  hasFilter,
  instantFlag,
  namespaceArgument,
  namespacesArgument,
  reasonFlag,
  textFlag,
  timerIdArgument,
} from "./TimerFlags.ts"
import { listTimers, pageFlags } from "./timersList.ts"

export const deadCommand = (input: CommandInput) =>
  Command.make("dead").pipe(
    Command.withDescription(
      [
        "Dead letters: timers that used up their attempts, that expired, or that their target refused.",
        "  List them, replay them, or discard them. For messages of the bus see punctual messages.",
        "  The exit code is 0 if everything was done, 1 if something was not, 2 for wrong usage.",
      ].join("\n"),
    ),
    Command.withShortDescription("Timers that could not be delivered: list, replay, discard"),
    Command.withSubcommands([listCommand(input), replayCommand(input), discardCommand(input)]),
  )

const listCommand = (input: CommandInput) =>
  Command.make(
    "list",
    {
      namespaces: namespacesArgument,
      ...filterFlags,
      reason: reasonFlag,
      ...pageFlags,
      payload: switchFlag("payload", "Show the payloads too"),
      ...serviceFlags(input),
    },
    (asked) =>
      listTimers({
        ...asked,
        states: ["dead"],
        path: ["dead", "list"],
        none: `No dead letters in ${asked.namespaces.join(", ")} that match.`,
      }),
  ).pipe(
    Command.withDescription(
      "List dead letters, the latest first. punctual timers get shows all details of one timer.",
    ),
    Command.withShortDescription("List dead letters"),
    Command.withExamples([
      { command: "punctual dead list billing --from 2030-01-01T00:00:00Z" },
      { command: "punctual dead list '*' --error 5xx --host hooks.example.com" },
    ]),
  )

const selectionFlags = {
  namespace: namespaceArgument,
  timerId: timerIdArgument.pipe(Argument.optional),
  ...filterFlags,
  from: instantFlag("from", "Only timers that died at this instant or later"),
  until: instantFlag("until", "Only timers that died before this instant"),
  minLateness: durationFlag("min-lateness", "Dead letters have no lateness, so this selects none"),
  reason: reasonFlag,
  all: switchFlag("all", "Every dead letter that the namespace has when the command begins"),
  dryRun: switchFlag("dry-run", "Only count, and change nothing"),
}

interface Selection extends Filter {
  readonly namespace: string
  readonly timerId: Option.Option<string>
  readonly all: boolean
  readonly dryRun: boolean
}

/** One dead letter by its key, or the matching ones that existed when the command began. */
interface Chosen {
  readonly fields: RequestFields
  /** How many there were; infinite if the service stopped counting. */
  readonly countMax: number
}

/**
 * A replayed timer may die again while the command replays the rest. So that this does not go on for ever, the command
 * replays only timers that died before it began. Under a clock that does not move, this includes timers that die in the
 * same instant; then the command stops after `countMax` timers.
 */
const chosen = (
  service: ServiceAddress,
  selection: Selection,
): Effect.Effect<Chosen, CommandFailed | OutputClosed, Output> =>
  Effect.gen(function* () {
    const { namespace, timerId, dryRun } = selection
    const common = { namespace, ...(dryRun ? { dryRun } : {}) }
    if (Option.isSome(timerId)) return { fields: { ...common, timerId: timerId.value }, countMax: 1 }
    const begun = (yield* serviceNow(service)) + 1
    const until = Math.min(begun, parseInstant(Option.getOrElse(selection.until, () => "")) ?? begun)
    const from = parseInstant(Option.getOrElse(selection.from, () => ""))
    // No timer can have died after now, and the service would refuse a filter that ends before it begins.
    if (from !== undefined && from >= begun) return { fields: common, countMax: 0 }
    const filter = definedIn({ ...filterFields(selection), until: formatInstant(until) })
    const { value: counted } = yield* callService(service, {
      path: "/timers/count",
      fields: { namespace, state: "dead", ...filter },
      answer: CountTimersAnswer,
    })
    const countMax = counted.capped ? Number.POSITIVE_INFINITY : counted.count
    return { fields: { ...common, filter }, countMax }
  })

const isOneSelection = (selection: Selection): boolean =>
  countGiven(Option.isSome(selection.timerId), hasFilter(selection), selection.all) === 1

const whichOne = "Give exactly one of these: a timer id, a filter, or --all."

const replayCommand = (input: CommandInput) =>
  Command.make(
    "replay",
    { ...selectionFlags, ...serviceFlags(input) },
    ({ service, json, ...selection }): CommandRun => {
      if (!isOneSelection(selection)) return Effect.fail(misuse(["dead", "replay"], whichOne))
      return Effect.gen(function* () {
        const { fields, countMax } = yield* chosen(service, selection)
        const call = (cursor: string | undefined) =>
          callService(service, {
            path: "/timers/replay",
            fields: { ...fields, cursor },
            answer: ReplayTimersAnswer,
          })
        const done = yield* asOften(
          selection,
          {
            none: { replayed: 0, skipped: 0 },
            isProgress: ({ replayed }) => replayed > 0,
            isEnough: ({ replayed }) => replayed >= countMax,
            // Each call counts the skipped ones again, unless it continues where the last call ended.
            add: (sums, one, goesOn) => ({
              replayed: sums.replayed + one.replayed,
              skipped: goesOn ? sums.skipped + one.skipped : Math.max(sums.skipped, one.skipped),
            }),
          },
          countMax,
          (cursor) =>
            Effect.map(call(cursor), ({ value: { replayed, skipped, ...progress } }) =>
              batchOf({ replayed, skipped }, progress),
            ),
        )
        yield* told(selection, done, json)
        const { replayed, skipped } = done.counts
        // If one timer id has several dead letters, the service replays the latest and skips the others.
        if (skipped > 0 && !selection.dryRun && (Option.isNone(selection.timerId) || replayed === 0)) {
          return yield* new CommandFailed({
            message: `${skipped} skipped, because a timer with the same id is pending: ${skipped === 1 ? "it stays a dead letter" : "they stay dead letters"}.`,
          })
        }
      })
    },
  ).pipe(
    Command.withDescription(
      [
        "Replay dead letters: they fire at once, with all their attempts.",
        "  A dead letter whose id is pending again is skipped and stays as it is; the exit code is then 1.",
      ].join("\n"),
    ),
    Command.withShortDescription("Fire dead letters again"),
    Command.withExamples([
      { command: "punctual dead replay billing invoice-4711" },
      { command: "punctual dead replay billing --from 2030-01-01T00:00:00Z --dry-run" },
      { command: "punctual dead replay billing --all" },
    ]),
  )

const discardCommand = (input: CommandInput) =>
  Command.make(
    "discard",
    {
      ...selectionFlags,
      why: textFlag("why", "TEXT", "Why you discard them; the audit record shows it"),
      yes: switchFlag("yes", "Confirms --all, because discarded timers cannot be restored"),
      ...serviceFlags(input),
    },
    ({ service, json, why, yes, ...selection }): CommandRun => {
      const wrong = (message: string) => Effect.fail(misuse(["dead", "discard"], message))
      if (!isOneSelection(selection)) return wrong(whichOne)
      if (selection.all && !yes && !selection.dryRun) {
        return wrong(
          `This permanently removes every dead letter of ${selection.namespace}: add --yes to confirm.`,
        )
      }
      return Effect.gen(function* () {
        const { fields, countMax } = yield* chosen(service, selection)
        const call = (cursor: string | undefined) =>
          callService(service, {
            path: "/timers/discard",
            fields: { ...fields, reason: Option.getOrUndefined(why), cursor },
            answer: DiscardTimersAnswer,
          })
        const done = yield* asOften(
          selection,
          { none: { discarded: 0 }, isProgress: ({ discarded }) => discarded > 0 },
          countMax,
          (cursor) =>
            Effect.map(call(cursor), ({ value: { discarded, ...progress } }) =>
              batchOf({ discarded }, progress),
            ),
        )
        yield* told(selection, done, json)
      })
    },
  ).pipe(
    Command.withDescription("Permanently remove dead letters, with their payloads."),
    Command.withShortDescription("Permanently remove dead letters"),
    Command.withExamples([
      { command: "punctual dead discard billing invoice-4711" },
      { command: "punctual dead discard billing --until 2030-01-01T00:00:00Z" },
      { command: "punctual dead discard billing --all --yes --why 'the orders were cancelled'" },
    ]),
  )

/**
 * A dry run changes nothing, so repeating it would never end. It is repeated only while each call continues where the
 * last one ended.
 */
const asOften = <Name extends string>(
  { dryRun }: Selection,
  repeating: Repeating<Name>,
  countMax: number,
  call: (cursor: string | undefined) => Effect.Effect<Batch<Name>, CommandFailed>,
) => {
  if (countMax === 0) return Effect.succeed({ counts: repeating.none, more: false })
  return repeatWhileMore(dryRun ? { ...repeating, isProgress: () => false } : repeating, call)
}

/** For one timer id the service refuses the call if there is no dead letter. For many, the counts may be zero. */
const told = <Name extends string>({ dryRun }: Selection, { counts, more }: Batch<Name>, json: boolean) => {
  if (json) return answerValue({ ...counts, ...(more ? { more } : {}), ...(dryRun ? { dryRun } : {}) })
  const rest = more ? ", and there are more" : ""
  return Effect.flatMap(Output, ({ answer }) =>
    answer(dryRun ? `Dry run: ${countsText(counts, "would be ")}${rest}.` : `${countsText(counts)}${rest}.`),
  )
}
