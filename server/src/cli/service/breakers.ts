// `punctual breakers`: hosts that failed so often in a row that the service delays their timers.
import { ListBreakersAnswer, ResetBreakersAnswer } from "@punctual/api/Service"
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { answerJson, type CommandInput, callService, serviceFlags } from "../client/ServiceClient.ts"
import { CommandFailed, Output, printable } from "../frame/CommandRuntime.ts"
import { textTable } from "../frame/textTable.ts"

export const breakersCommand = (input: CommandInput) =>
  Command.make("breakers").pipe(
    Command.withDescription(
      [
        "Breakers: if a host fails too often in a row, its timers wait until an attempt succeeds again.",
        "  Each node has its own breakers; --url selects the node.",
      ].join("\n"),
    ),
    Command.withShortDescription("Breakers of failing hosts: list, reset"),
    Command.withSubcommands([listCommand(input), resetCommand(input)]),
  )

const listCommand = (input: CommandInput) =>
  Command.make("list", serviceFlags(input), ({ service, json }) =>
    Effect.gen(function* () {
      const asked = yield* callService(service, {
        path: "/breakers/list",
        fields: {},
        answer: ListBreakersAnswer,
      })
      if (json) return yield* answerJson(asked.text)
      const { answer, remark } = yield* Output
      yield* answer(breakersText(asked.value))
      if (asked.value.more === true) yield* remark("There are more open breakers than this list shows.")
    }),
  ).pipe(
    Command.withDescription("List the breakers that are open."),
    Command.withExamples([{ command: "punctual breakers list" }]),
  )

const breakersText = ({ node, breakers }: ListBreakersAnswer): string =>
  breakers.length === 0
    ? `No breaker is open on ${node}.`
    : textTable([
        ["HOST", "NAMESPACE", "FAILURES", "WAITING", "NEXT TRY"],
        ...breakers.map(({ host, namespace, failures, waiting, probeInMs }) => [
          host,
          namespace,
          String(failures),
          String(waiting),
          `in ${(probeInMs / 1_000).toFixed(1)} s`,
        ]),
      ])

const hostsShown = 10

/** A host name without its port closes nothing, so the error shows the names as they must be written. */
const openHosts = ({ breakers, more }: ListBreakersAnswer): string => {
  const hosts = [...new Set(breakers.map(({ host }) => host))]
  if (hosts.length === 0) return "No breaker is open there."
  const rest = hosts.length > hostsShown || more === true ? ", …" : ""
  return `Open are: ${hosts.slice(0, hostsShown).join(", ")}${rest}.`
}

const resetCommand = (input: CommandInput) =>
  Command.make(
    "reset",
    {
      host: Argument.String("HOST").pipe(Argument.withDescription("The host, as list shows it")),
      ...serviceFlags(input),
    },
    ({ host, service, json }) =>
      Effect.gen(function* () {
        const { value, text } = yield* callService(service, {
          path: "/breakers/reset",
          fields: { host },
          answer: ResetBreakersAnswer,
        })
        if (json) yield* answerJson(text)
        if (value.reset === 0) {
          const hint = yield* callService(service, {
            path: "/breakers/list",
            fields: {},
            answer: ListBreakersAnswer,
          }).pipe(
            Effect.map((open) => openHosts(open.value)),
            Effect.orElseSucceed(() => "punctual breakers list shows the open breakers."),
          )
          return yield* new CommandFailed({
            message: printable(`no breaker is open for ${host} on ${value.node}. ${hint}`),
          })
        }
        if (!json)
          yield* (yield* Output).answer(
            `Closed ${value.reset === 1 ? "1 breaker" : `${value.reset} breakers`} on ${value.node}.`,
          )
      }),
  ).pipe(
    Command.withDescription("Close the breakers of a host, so that its timers fire at once."),
    Command.withExamples([{ command: "punctual breakers reset hooks.example.com:443" }]),
  )
