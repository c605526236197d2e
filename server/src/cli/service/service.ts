// `punctual status`, `pause` and `resume`: commands for the service as a whole, with all its namespaces.
import { formatInstant } from "@punctual/api/Instant"
import { ServiceAnswer } from "@punctual/api/Service"
import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import type { ServiceAddress } from "../client/ServiceAddress.ts"
import {
  answerJson,
  type CommandInput,
  callService,
  type RequestFields,
  serviceFlags,
} from "../client/ServiceClient.ts"
import { type CommandRun, Output, switchFlag } from "../frame/CommandRuntime.ts"
import { textTable } from "../frame/textTable.ts"
import { textFlag } from "../timers/TimerFlags.ts"

export const statusCommand = (input: CommandInput) =>
  Command.make(
    "status",
    {
      settings: switchFlag("settings", "Also show every setting in force on the node asked, without secrets"),
      ...serviceFlags(input),
    },
    ({ settings, service, json }) => asked(service, json, "/service/get", settings ? { settings } : {}),
  ).pipe(
    Command.withDescription(
      "Show the time and the version of the service, and whether all firing is paused.",
    ),
    Command.withShortDescription("Show the time of the service, and whether firing is paused"),
    Command.withExamples([{ command: "punctual status" }, { command: "punctual status --settings" }]),
  )

export const pauseCommand = (input: CommandInput) =>
  Command.make(
    "pause",
    {
      reason: textFlag("reason", "TEXT", "Why; punctual status shows it"),
      ...serviceFlags(input),
    },
    ({ reason, service, json }) =>
      asked(service, json, "/service/pause", { reason: Option.getOrUndefined(reason) }),
  ).pipe(
    Command.withDescription(
      [
        "Stop all firing, in every namespace and on every node, until punctual resume.",
        "  The service still accepts timers, and attempts in flight finish. The pause survives a restart.",
        "  To pause one namespace: punctual namespaces put NAMESPACE --paused.",
      ].join("\n"),
    ),
    Command.withShortDescription("Stop all firing"),
    Command.withExamples([{ command: "punctual pause --reason 'the ledger is being moved'" }]),
  )

export const resumeCommand = (input: CommandInput) =>
  Command.make(
    "resume",
    {
      fireOverdue: switchFlag(
        "fire-overdue",
        "After a restore: fire at once all timers that became due since the backup",
      ),
      ...serviceFlags(input),
    },
    ({ fireOverdue, service, json }) =>
      asked(service, json, "/service/resume", fireOverdue ? { fireOverdue } : {}),
  ).pipe(
    Command.withDescription(
      [
        "Let timers fire again after punctual pause, or after a restore from a backup.",
        "  A restored service may have already fired some of its overdue timers: resuming it needs --fire-overdue.",
      ].join("\n"),
    ),
    Command.withShortDescription("Let timers fire again"),
    Command.withExamples([{ command: "punctual resume" }, { command: "punctual resume --fire-overdue" }]),
  )

const asked = (service: ServiceAddress, json: boolean, path: string, fields: RequestFields): CommandRun =>
  Effect.gen(function* () {
    const { value, text } = yield* callService(service, { path, fields, answer: ServiceAnswer })
    if (json) return yield* answerJson(text)
    const { answer } = yield* Output
    yield* answer(
      [
        pauseText(value),
        ...(value.build === undefined ? [] : [buildText(value.build)]),
        ...(value.settings === undefined ? [] : ["", settingsTable(value.settings)]),
      ].join("\n"),
    )
  })

const buildText = ({ version, commit, builtAt }: NonNullable<ServiceAnswer["build"]>): string =>
  `Version of the service: ${version}${commit === undefined ? " (from source)" : ` (commit ${commit}, built ${builtAt})`}.`

const settingsTable = (settings: NonNullable<ServiceAnswer["settings"]>): string =>
  textTable([
    ["SETTING", "VALUE", "SET"],
    ...settings.map(({ name, value, isSet }) => [
      name,
      value === "" ? "-" : value,
      isSet ? "yes" : "default",
    ]),
  ])

const pauseText = ({ now, pause }: ServiceAnswer): string => {
  const time = `Time of the service: ${formatInstant(now)}.`
  if (pause === undefined) return `Timers fire. ${time}`
  const why = pause.kind === "restored" ? " because of a restore from a backup" : ""
  const reason = pause.reason === undefined ? "" : `: ${pause.reason}`
  return `Paused since ${formatInstant(pause.since)}${why}${reason}. ${time}`
}
