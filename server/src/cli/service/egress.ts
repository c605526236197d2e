// `punctual egress`: whether the service may call a URL.
import { CheckEgressAnswer } from "@punctual/api/CheckEgress"
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { answerJson, type CommandInput, callService, serviceFlags } from "../client/ServiceClient.ts"
import { CommandFailed, Output, printable } from "../frame/CommandRuntime.ts"
import { textTable } from "../frame/textTable.ts"

export const egressCommand = (input: CommandInput) =>
  Command.make("egress").pipe(
    Command.withDescription(
      "Egress rules: TIMER_EGRESS of the service says which addresses webhooks may reach.",
    ),
    Command.withShortDescription("Egress rules: check a URL"),
    Command.withSubcommands([checkCommand(input)]),
  )

const checkCommand = (input: CommandInput) =>
  Command.make(
    "check",
    {
      target: Argument.String("URL").pipe(Argument.withDescription("The URL of a webhook")),
      ...serviceFlags(input),
    },
    ({ target, service, json }) =>
      Effect.gen(function* () {
        const { value, text } = yield* callService(service, {
          path: "/egress/check",
          fields: { url: target },
          answer: CheckEgressAnswer,
        })
        const { answer } = yield* Output
        if (json) yield* answerJson(text)
        else if (value.addresses.length > 0) yield* answer(addressesText(value))
        if (!value.allowed) {
          const verdict = value.verdict === "unknown" ? "not known" : "not allowed"
          return yield* new CommandFailed({ message: printable(`${verdict}: ${value.reason}`) })
        }
        if (!json) yield* answer(printable(`Allowed: ${value.reason}`))
      }),
  ).pipe(
    Command.withDescription(
      [
        "Show whether the service would call a URL, and why.",
        "  The service resolves the host, but sends no request to it. In a cluster, --url selects the node.",
        "  The exit code is 0 if the URL is allowed, and 1 if it is not or if this is not known.",
      ].join("\n"),
    ),
    Command.withShortDescription("Show whether the service would call a URL, and why"),
    Command.withExamples([{ command: "punctual egress check https://hooks.example.com/timer" }]),
  )

const addressesText = ({ addresses }: CheckEgressAnswer): string =>
  textTable([
    ["ADDRESS", "ALLOWED BY"],
    ...addresses.map(({ address, entry }) => [printable(address), entry ?? "no entry"]),
  ])
