// The dead letters of a broker, for operators: look at them, send them round again, or let them go. Every
// sub-command is for one tenant. Nothing here knows the broker: the composition root opens its dead letters, and
// only when a command needs them, so that help is to be had without one.
import { unknownTenant } from "@punctual/api/DeadLetter"
import { Namespace } from "@punctual/api/Namespace"
import { Effect, Option, Schema, type Scope } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { BusError, type DeadLetters } from "../../ports/Bus.ts"
import {
  CommandFailed,
  type CommandRun,
  misuse,
  Output,
  printable,
  switchFlag,
} from "../frame/CommandRuntime.ts"
import { type Disposal, disposeOfAll, disposeOfSome } from "./DeadLetterDisposal.ts"
import { deadLetterJson, deadLetterPage, deadLetterSummary, deadLetterTable } from "./DeadLetterView.ts"

export type OpenDeadLetters = Effect.Effect<DeadLetters, BusError, Scope.Scope>

export const dlqCommand = (open: OpenDeadLetters) =>
  Command.make("dlq").pipe(
    Command.withDescription(
      [
        "Dead letters: messages that could not be handled, kept at the broker that TIMER_BROKER_URL names.",
        "  Look at them, publish them again, or let them go. See punctual dlq <subcommand> --help.",
        "  The exit code is 0 if all was done, 1 if something was not, 2 for wrong usage.",
      ].join("\n"),
    ),
    Command.withShortDescription("Messages of the broker that could not be handled"),
    Command.withSubcommands([
      listCommand(open),
      showCommand(open),
      replayCommand(open),
      discardCommand(open),
    ]),
  )

const tenantFlag = Flag.String("tenant").pipe(
  Flag.withMetavar("T"),
  Flag.withDescription(
    `Whose dead letters: a namespace, or ${unknownTenant} for messages that name none (required)`,
  ),
  Flag.filter(
    (text) => text === unknownTenant || Schema.is(Namespace)(text),
    () => `a namespace (1 to 100 of A-Z, a-z, 0-9, _ and -, not beginning with _) or ${unknownTenant}`,
  ),
)

const pageMax = 1_000
const pageDefault = 50

const listCommand = (open: OpenDeadLetters) =>
  Command.make(
    "list",
    {
      tenant: tenantFlag,
      limit: Flag.Int("limit").pipe(
        Flag.withMetavar("N"),
        Flag.withDescription(`How many at most, from 1 to ${pageMax} (default ${pageDefault})`),
        Flag.filter(
          (limit) => limit >= 1 && limit <= pageMax,
          () => `a whole number from 1 to ${pageMax}`,
        ),
        Flag.withDefault(pageDefault),
      ),
      cursor: Flag.String("cursor").pipe(
        Flag.withMetavar("C"),
        Flag.withDescription("Where to go on, as the page before said"),
        Flag.optional,
      ),
      json: switchFlag("json", "Answer one JSON object: { letters, nextCursor? }"),
    },
    ({ tenant, limit, cursor, json }) =>
      withDeadLetters(open, (letters) =>
        Effect.gen(function* () {
          const page = { limit, ...(Option.isSome(cursor) ? { cursor: cursor.value } : {}) }
          const { entries, next } = yield* letters.list(tenant, page)
          const { answer, remark, columns } = yield* Output
          if (json) {
            const listed = { letters: entries.map(deadLetterSummary), nextCursor: next }
            return yield* answer(JSON.stringify(listed, undefined, 2))
          }
          yield* answer(
            entries.length > 0
              ? deadLetterTable(entries, columns)
              : `No ${Option.isSome(cursor) ? "more " : ""}dead letters for tenant ${tenant}.`,
          )
          if (next !== undefined) {
            const again = `punctual dlq list --tenant=${tenant} --limit=${limit} --cursor=${shellQuoted(next)}`
            yield* remark(`There are more. Go on with: ${again}`)
          }
        }),
      ),
  ).pipe(
    Command.withDescription("List dead letters, oldest first."),
    Command.withExamples([{ command: "punctual dlq list --tenant billing" }]),
  )

const showCommand = (open: OpenDeadLetters) =>
  Command.make(
    "show",
    {
      tenant: tenantFlag,
      json: switchFlag("json", "Answer one JSON object, with the message as envelope, or as raw base64"),
      id: Argument.String("ID").pipe(Argument.withDescription("The dead letter's id, as list shows it")),
    },
    ({ tenant, json, id }) =>
      withDeadLetters(open, (letters) =>
        Effect.gen(function* () {
          const entry = yield* letters.find(tenant, id)
          if (entry === undefined) {
            const message = `there is no dead letter ${printable(id)} for tenant ${tenant}.`
            return yield* new CommandFailed({ message })
          }
          const { answer } = yield* Output
          yield* answer(json ? deadLetterJson(entry) : deadLetterPage(entry))
        }),
      ),
  ).pipe(
    Command.withDescription("Show a dead letter: why it is one, and the message."),
    Command.withExamples([{ command: "punctual dlq show --tenant billing 17" }]),
  )

const replaying: Disposal = {
  name: "replay",
  done: "replayed",
  dispose: (letters, tenant, id) => letters.replay(tenant, id),
}

const discarding: Disposal = {
  name: "discard",
  done: "discarded",
  dispose: (letters, tenant, id) => letters.discard(tenant, id),
}

const idArguments = Argument.String("ID").pipe(
  Argument.withDescription("Ids of dead letters, as list shows them"),
  Argument.variadic(),
)

const eachJsonFlag = switchFlag("json", "Answer a JSON object a line: { id, result, error? }")
const allFlag = switchFlag("all", "All of the tenant that are there when it begins, instead of some by id")

const replayCommand = (open: OpenDeadLetters) =>
  Command.make(
    "replay",
    { tenant: tenantFlag, all: allFlag, json: eachJsonFlag, ids: idArguments },
    (input) => disposeAsAsked(open, replaying, input),
  ).pipe(
    Command.withDescription("Publish messages again as they first came, and remove their dead letters."),
    Command.withExamples([
      { command: "punctual dlq replay --tenant billing 17 18" },
      { command: "punctual dlq replay --tenant billing --all" },
    ]),
  )

const discardCommand = (open: OpenDeadLetters) =>
  Command.make(
    "discard",
    {
      tenant: tenantFlag,
      all: allFlag,
      yes: switchFlag("yes", "Needed with --all, because what is discarded is gone"),
      json: eachJsonFlag,
      ids: idArguments,
    },
    (input): CommandRun => {
      if (!input.all || input.yes) return disposeAsAsked(open, discarding, input)
      const message = `This removes every dead letter of tenant ${input.tenant} for good: add --yes if that is meant.`
      return Effect.fail(misuse(["dlq", "discard"], message))
    },
  ).pipe(
    Command.withDescription("Remove dead letters for good, messages and all."),
    Command.withExamples([
      { command: "punctual dlq discard --tenant billing 17 18" },
      { command: "punctual dlq discard --tenant billing --all --yes" },
    ]),
  )

interface Asked {
  readonly tenant: string
  readonly all: boolean
  readonly json: boolean
  readonly ids: ReadonlyArray<string>
}

const disposeAsAsked = (
  open: OpenDeadLetters,
  disposal: Disposal,
  { tenant, all, json, ids }: Asked,
): CommandRun => {
  if (all === ids.length > 0) {
    const message = "Name dead letters by their ids, or take all of them with --all: one of the two."
    return Effect.fail(misuse(["dlq", disposal.name], message))
  }
  return withDeadLetters(open, (letters) => {
    const run = { disposal, letters, tenant, isJson: json }
    return all ? disposeOfAll(run) : disposeOfSome(run, [...new Set(ids)])
  })
}

/** Opened for this command only; a bus that cannot be used is told of like any other failure. */
const withDeadLetters = <E, R>(
  open: OpenDeadLetters,
  use: (letters: DeadLetters) => Effect.Effect<void, E | BusError, R>,
) =>
  Effect.flatMap(open, use).pipe(
    Effect.scoped,
    Effect.catchIf(
      (error): error is BusError => error instanceof BusError,
      ({ message }) => Effect.fail(new CommandFailed({ message })),
    ),
  )

const shellQuoted = (text: string): string =>
  /^[\w.:=+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
