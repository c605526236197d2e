// All commands in one tree: help, "did you mean" and completion come from it. The composition root gives each command
// the parts that it needs, and the command opens them when it runs. Showing help or completing flags opens nothing and
// loads no store.

import { agentSettingsHelp } from "@punctual/agent/settings/agentSettingsHelp"
import type { CommandInput } from "@punctual/server/cli/client/ServiceClient"
import { eventsCommand } from "@punctual/server/cli/events/events"
import { runTree, type Surroundings } from "@punctual/server/cli/frame/CommandRuntime"
import type { OpenKeys } from "@punctual/server/cli/keys/KeyAccess"
import { keysCommand } from "@punctual/server/cli/keys/keys"
import { listenCommand } from "@punctual/server/cli/listen/listen"
import { messagesCommand } from "@punctual/server/cli/messages/messages"
import { auditCommand } from "@punctual/server/cli/service/audit"
import { breakersCommand } from "@punctual/server/cli/service/breakers"
import { clockCommand } from "@punctual/server/cli/service/clock"
import { clusterCommand } from "@punctual/server/cli/service/cluster"
import { egressCommand } from "@punctual/server/cli/service/egress"
import { healthCommand } from "@punctual/server/cli/service/health"
import { settingsHelp } from "@punctual/server/cli/service/help"
import { namespacesCommand } from "@punctual/server/cli/service/namespaces"
import { pauseCommand, resumeCommand, statusCommand } from "@punctual/server/cli/service/service"
import { backupCommand, type OpenCopies } from "@punctual/server/cli/store/backup"
import { doctorCommand, type OpenExamination } from "@punctual/server/cli/store/doctor"
import { exportCommand, type OpenArchive } from "@punctual/server/cli/store/exportArchive"
import { importCommand, type OpenImportTarget } from "@punctual/server/cli/store/importArchive"
import { type LineSource, stdinLines } from "@punctual/server/cli/store/LineSource"
import { migrateCommand, type OpenSchema } from "@punctual/server/cli/store/migrate"
import { type OpenRestoreTarget, restoreCommand } from "@punctual/server/cli/store/restore"
import { bulkCommand } from "@punctual/server/cli/timers/bulk"
import { deadCommand } from "@punctual/server/cli/timers/dead"
import { explainCommand } from "@punctual/server/cli/timers/explain"
import { timersCommand } from "@punctual/server/cli/timers/timers"
import { watchCommand } from "@punctual/server/cli/watch/watch"
import { webhooksCommand } from "@punctual/server/cli/webhooks/webhooks"
import type { TrialDelivery } from "@punctual/server/ports/TrialDelivery"
import type { Adapters } from "@punctual/server/settings/Settings"
import { Command, Completions, Flag } from "effect/cli"
import { completionCommand } from "./completion.ts"

/** The parts that the composition root gives. */
export interface CommandParts {
  readonly input: CommandInput
  /** For the help of the settings. */
  readonly adapters: Adapters
  /** Sends test deliveries from a command. */
  readonly trialDelivery: TrialDelivery
  readonly openArchive: OpenArchive
  readonly openImportTarget: OpenImportTarget
  /** The archive to import; the default is stdin. */
  readonly archiveLines?: () => LineSource
  readonly keeping: {
    readonly examination: OpenExamination
    readonly copies: OpenCopies
    readonly restoreTarget: OpenRestoreTarget
    readonly schema: OpenSchema
    readonly storeKeys: OpenKeys
  }
}

/** Runs `punctual <args>` and returns the exit code. */
export const runPunctual = (
  args: ReadonlyArray<string>,
  parts: CommandParts,
  surroundings?: Surroundings,
): Promise<number> => {
  const [first, ...rest] = args
  return runTree(punctualCommand(parts), first === "help" ? [...rest, "--help"] : args, surroundings)
}

export const punctualCommand = (parts: CommandParts) =>
  treeWith(
    parts,
    completionCommand(() =>
      Completions.fromCommand(
        treeWith(
          parts,
          completionCommand(() => leaf),
        ),
      ),
    ),
  )

/** Ends the recursion: the description of the tree does not contain itself again. */
const leaf: Completions.CommandDescriptor = {
  name: "punctual",
  description: undefined,
  flags: [],
  arguments: [],
  subcommands: [],
}

const treeWith = (parts: CommandParts, completion: ReturnType<typeof completionCommand>) =>
  Command.make("punctual").pipe(
    Command.withDescription(
      [
        "Punctual, a durable timer service.",
        "  Without a command it runs the service. For the settings see punctual serve --help.",
        "  The exit code is 0 on success, 1 if a call was refused or failed, 2 for wrong usage.",
      ].join("\n"),
    ),
    Command.withSubcommands([
      {
        group: "The service",
        commands: [serveCommand(parts.adapters), agentCommand(), listenCommand(parts.input)],
      },
      {
        group: "Timers (call a running service)",
        commands: [
          timersCommand(parts.input),
          explainCommand(parts.input),
          deadCommand(parts.input),
          bulkCommand(parts.input),
          namespacesCommand(parts.input),
          webhooksCommand(parts.input, parts.trialDelivery),
          watchCommand(parts.input),
          eventsCommand(parts.input),
        ],
      },
      {
        group: "Operation (call a running service)",
        commands: [
          statusCommand(parts.input),
          healthCommand(parts.input),
          pauseCommand(parts.input),
          resumeCommand(parts.input),
          clusterCommand(parts.input),
          breakersCommand(parts.input),
          egressCommand(parts.input),
          clockCommand(parts.input),
          messagesCommand(parts.input),
          auditCommand(parts.input),
        ],
      },
      {
        group: "Keys (call a running service, or open its store)",
        commands: [keysCommand({ input: parts.input, openKeys: parts.keeping.storeKeys })],
      },
      {
        group: "Stores (open a store directly)",
        commands: [
          doctorCommand(parts.keeping.examination).pipe(
            Command.withShortDescription("Examine a store for problems"),
          ),
          backupCommand(parts.keeping.copies).pipe(Command.withShortDescription("Copy a store into a file")),
          restoreCommand(parts.keeping.restoreTarget).pipe(
            Command.withShortDescription("Put a backup in the place of its store"),
          ),
          migrateCommand(parts.keeping.schema).pipe(
            Command.withShortDescription("Update the schema of a store"),
          ),
          exportCommand(parts.openArchive),
          importCommand(parts.openImportTarget, parts.archiveLines ?? stdinLines),
        ],
      },
      { group: "Other", commands: [completion] },
    ]),
    Command.withExamples([
      { command: "punctual" },
      { command: "punctual timers create demo hello --delay 2s --to http://127.0.0.1:9000/hook" },
      { command: "punctual timers get demo hello" },
    ]),
  )

/** As for `serve`: the composition root runs the agent without this tree. */
const agentCommand = () =>
  Command.make("agent", {
    modules: Flag.String("modules").pipe(
      Flag.withDescription("What runs in this process: any of api, orchestration, execution and timer"),
      Flag.optional,
    ),
    demo: Flag.Boolean("demo").pipe(
      Flag.withDescription("Start services to call on loopback, and submit sample calls"),
    ),
  }).pipe(
    Command.withDescription(
      [
        "Run the Service Agent: it calls other services, now or later, and shows what became of each call.",
        "The Timer runs in the same process. With a message broker (TIMER_BROKER_URL) the modules can run in",
        "processes of their own.",
        "",
        agentSettingsHelp(),
      ]
        .join("\n")
        .replaceAll(/\n(?=.)/g, "\n  "),
    ),
    Command.withShortDescription("Run the Service Agent with a Timer"),
    Command.withExamples([
      { command: "punctual agent --demo" },
      {
        command:
          "TIMER_BROKER_URL=nats://127.0.0.1:4222 punctual agent --modules api,orchestration,execution",
      },
    ]),
  )

/**
 * This command exists for its help and for completion. The composition root runs the service without this tree, so that
 * the start of the service loads no commands.
 */
const serveCommand = (adapters: Adapters) =>
  Command.make("serve").pipe(
    Command.withDescription(
      ["Run the service. It has no flags: you configure it with settings.", "", settingsHelp(adapters)]
        .join("\n")
        .replaceAll(/\n(?=.)/g, "\n  "),
    ),
    Command.withShortDescription("Run the service (the default)"),
  )
