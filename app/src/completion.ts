// `punctual completion`: prints a script with which a shell completes commands and flags. It is made from the tree of
// commands.

import { listStates } from "@punctual/api/TimerFilter"
import { Output } from "@punctual/server/cli/frame/CommandRuntime"
import { Effect } from "effect"
import { Argument, Command, Completions } from "effect/cli"

const shells = ["bash", "zsh", "fish"] as const

export const completionCommand = (describeTree: () => Completions.CommandDescriptor) =>
  Command.make(
    "completion",
    { shell: Argument.Literals("SHELL", shells).pipe(Argument.withDescription("The shell")) },
    ({ shell }) =>
      Effect.gen(function* () {
        const { answer } = yield* Output
        yield* answer(completionScript(shell, describeTree()))
      }),
  ).pipe(
    Command.withDescription(
      [
        "Print a script with which a shell completes commands and flags.",
        "  bash: add the first example to ~/.bashrc. zsh: save the script as _punctual in a folder of your fpath.",
        "  fish: save the script as ~/.config/fish/completions/punctual.fish.",
      ].join("\n"),
    ),
    Command.withShortDescription("Print completion scripts for bash, zsh and fish"),
    Command.withExamples([
      { command: "source <(punctual completion bash)" },
      { command: "punctual completion zsh > ~/.zsh/completions/_punctual" },
      { command: "punctual completion fish > ~/.config/fish/completions/punctual.fish" },
    ]),
  )

/** The generated script mentions a flag `--completions`. In this program it is a command. */
export const completionScript = (
  shell: (typeof shells)[number],
  tree: Completions.CommandDescriptor,
): string =>
  Completions.generate(tree.name, shell, withHelp(tree)).replace(
    `${tree.name} --completions ${shell}`,
    `${tree.name} completion ${shell}`,
  )

/** Adds --help, which the tree does not list as a flag, and shortens descriptions to their first line. */
const withHelp = (command: Completions.CommandDescriptor): Completions.CommandDescriptor => ({
  ...command,
  description: firstLine(command.description),
  flags: [
    ...command.flags.map((flag) => ({
      ...flag,
      description: firstLine(flag.description),
      // This flag takes a list, so the parser knows no choices. The shell offers the single values.
      ...(flag.name === "state" ? { type: { _tag: "Choice" as const, values: listStates } } : {}),
    })),
    {
      name: "help",
      aliases: [],
      description: "Show help",
      type: { _tag: "Boolean" },
      negation: false,
    },
  ],
  subcommands: command.subcommands.map(withHelp),
})

const firstLine = (text: string | undefined): string | undefined => text?.split("\n", 1)[0]
