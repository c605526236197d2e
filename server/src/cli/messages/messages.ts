// `punctual messages`: messages of the bus that could not be handled, for operators to list, replay or discard. The
// command asks the running service, so it works with every bus and over all namespaces.
import { messagesPage, unknownNamespace } from "@punctual/api/Messages"
import { Namespace } from "@punctual/api/Namespace"
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { ServiceAddress } from "../client/ServiceAddress.ts"
import { answerJson, type CommandInput, serviceFlags } from "../client/ServiceClient.ts"
import { type CommandRun, misuse, Output, switchFlag } from "../frame/CommandRuntime.ts"
import { MessageClient } from "./MessageClient.ts"
import { type Disposal, disposeOfAll, disposeOfSome, noMessages } from "./MessageDisposal.ts"
import { messagePage, messageTable } from "./MessageView.ts"

export const messagesCommand = (input: CommandInput) =>
  Command.make("messages").pipe(
    Command.withDescription(
      [
        "Undeliverable messages: messages of the bus that could not be handled.",
        "  List them, send them again, or remove them. See punctual messages <subcommand> --help.",
        "  The exit code is 0 if everything was done, 1 if something was not, 2 for wrong usage.",
      ].join("\n"),
    ),
    Command.withShortDescription("Messages of the bus that could not be handled"),
    Command.withAlias("dlq"),
    Command.withSubcommands([
      listCommand(input),
      showCommand(input),
      replayCommand(input),
      discardCommand(input),
    ]),
  )

const namespaceFlag = (description: string) =>
  Flag.String("namespace").pipe(
    Flag.withMetavar("NAME"),
    Flag.withDescription(description),
    Flag.filter(
      (text) => text === unknownNamespace || Schema.is(Namespace)(text),
      () =>
        `a namespace (1 to 100 characters of A-Z, a-z, 0-9, _ and -, not beginning with _) or ${unknownNamespace}`,
    ),
  )

const whose = `The namespace of the messages, or ${unknownNamespace} for messages without one`

const pageDefault = 50

const listCommand = (input: CommandInput) =>
  Command.make(
    "list",
    {
      namespace: namespaceFlag(`${whose} (default all)`).pipe(Flag.optional),
      limit: Flag.Int("limit").pipe(
        Flag.withMetavar("N"),
        Flag.withDescription(`At most this many, from 1 to ${messagesPage} (default ${pageDefault})`),
        Flag.filter(
          (limit) => limit >= 1 && limit <= messagesPage,
          () => `a whole number from 1 to ${messagesPage}`,
        ),
        Flag.withDefault(pageDefault),
      ),
      cursor: Flag.String("cursor").pipe(
        Flag.withMetavar("C"),
        Flag.withDescription("Continue from this cursor, which the page before printed"),
        Flag.optional,
      ),
      ...serviceFlags(input),
    },
    ({ namespace: given, limit, cursor, service, json }) =>
      Effect.gen(function* () {
        const namespace = Option.getOrUndefined(given)
        const from = Option.getOrUndefined(cursor)
        const { value, text } = yield* new MessageClient(service).list(namespace, limit, from)
        if (json) return yield* answerJson(text)
        const { messages, nextCursor } = value
        const { answer, remark, columns } = yield* Output
        yield* answer(
          messages.length > 0
            ? messageTable(messages, columns)
            : noMessages(namespace, from === undefined ? "" : "more "),
        )
        if (nextCursor === undefined) return
        const scope = namespace === undefined ? "" : ` --namespace=${namespace}`
        const again = `punctual messages list${scope} --limit=${limit} --cursor=${shellQuoted(nextCursor)}`
        yield* remark(`There are more. Continue with: ${again}`)
      }),
  ).pipe(
    Command.withDescription("List undeliverable messages, oldest first."),
    Command.withExamples([
      { command: "punctual messages list" },
      { command: "punctual messages list --namespace billing" },
    ]),
  )

const showCommand = (input: CommandInput) =>
  Command.make(
    "show",
    {
      namespace: namespaceFlag(`${whose} (required)`),
      id: Argument.String("ID").pipe(Argument.withDescription("The message's id, as list shows it")),
      ...serviceFlags(input),
    },
    ({ namespace, id, service, json }) =>
      Effect.gen(function* () {
        const { value, text } = yield* new MessageClient(service).get(namespace, id)
        if (json) return yield* answerJson(text)
        const { answer } = yield* Output
        yield* answer(messagePage(value.message, text))
      }),
  ).pipe(
    Command.withDescription(
      "Show an undeliverable message: why it could not be handled, and the message itself.",
    ),
    Command.withExamples([{ command: "punctual messages show --namespace billing 17" }]),
  )

const replaying: Disposal = {
  name: "replay",
  done: "replayed",
  dispose: (client, namespace, id) => client.replay(namespace, id),
}

const discarding: Disposal = {
  name: "discard",
  done: "discarded",
  dispose: (client, namespace, id) => client.discard(namespace, id),
}

const idArguments = Argument.String("ID").pipe(
  Argument.withDescription("Ids of messages, as list shows them"),
  Argument.variadic(),
)

const disposalFlags = (input: CommandInput) => ({
  ...serviceFlags(input),
  namespace: namespaceFlag(`${whose} (needed with ids; with --all the default is all)`).pipe(Flag.optional),
  all: switchFlag("all", "All messages that exist when the command begins, instead of ids"),
  json: switchFlag("json", "Print one JSON object per line: { namespace, id, result, error? }"),
  ids: idArguments,
})

const replayCommand = (input: CommandInput) =>
  Command.make("replay", disposalFlags(input), (asked) => disposeAsAsked(replaying, asked)).pipe(
    Command.withDescription("Send messages again, unchanged, to the group that could not handle them."),
    Command.withExamples([
      { command: "punctual messages replay --namespace billing 17 18" },
      { command: "punctual messages replay --all" },
    ]),
  )

const discardCommand = (input: CommandInput) =>
  Command.make(
    "discard",
    {
      ...disposalFlags(input),
      yes: switchFlag("yes", "Confirms --all, because discarded messages cannot be restored"),
    },
    (asked): CommandRun => {
      if (!asked.all || asked.yes) return disposeAsAsked(discarding, asked)
      const scope = Option.match(asked.namespace, { onNone: () => "", onSome: (name) => ` of ${name}` })
      const message = `This permanently removes every undeliverable message${scope}: add --yes to confirm.`
      return Effect.fail(misuse(["messages", "discard"], message))
    },
  ).pipe(
    Command.withDescription("Permanently remove undeliverable messages."),
    Command.withExamples([
      { command: "punctual messages discard --namespace billing 17 18" },
      { command: "punctual messages discard --namespace billing --all --yes" },
    ]),
  )

interface Asked {
  readonly service: ServiceAddress
  readonly namespace: Option.Option<string>
  readonly all: boolean
  readonly json: boolean
  readonly ids: ReadonlyArray<string>
}

const disposeAsAsked = (
  disposal: Disposal,
  { service, namespace: given, all, json, ids }: Asked,
): CommandRun => {
  const wrong = (message: string) => Effect.fail(misuse(["messages", disposal.name], message))
  const namespace = Option.getOrUndefined(given)
  if (all === ids.length > 0) {
    return wrong("Give either the ids of messages or --all.")
  }
  const run = { disposal, client: new MessageClient(service), namespace, isJson: json }
  if (all) return disposeOfAll(run)
  return namespace === undefined
    ? wrong("Give the namespace of the messages with --namespace.")
    : disposeOfSome(run, namespace, [...new Set(ids)])
}

const shellQuoted = (text: string): string =>
  /^[\w.:=+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
