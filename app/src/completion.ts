// `punctual completion`: what a shell needs to complete commands and flags, made from the tree of commands itself.

import { Output } from "@punctual/server/cli/frame/CommandRuntime"
import { Effect } from "effect"
import { Argument, Command, Completions } from "effect/cli"

const shells = ["bash", "zsh", "fish"] as const

export const completionCommand = (describeTree: () => Completions.CommandDescriptor) =>
  Command.make(
    "completion",
    { shell: Argument.Literals("SHELL", shells).pipe(Argument.withDescription("For which shell")) },
    ({ shell }) =>
      Effect.gen(function* () {
        const { answer } = yield* Output
        yield* answer(completionScript(shell, describeTree()))
      }),
  ).pipe(
    Command.withDescription(
      [
        "Write what a shell needs to complete commands and flags.",
        "  bash: add the line of the example to ~/.bashrc; zsh: put it into a folder of your fpath as _punctual;",
        "  fish: put it into ~/.config/fish/completions/punctual.fish.",
      ].join("\n"),
    ),
    Command.withShortDescription("Completion for bash, zsh and fish"),
    Command.withExamples([
      { command: "source <(punctual completion bash)" },
      { command: "punctual completion zsh > ~/.zsh/completions/_punctual" },
      { command: "punctual completion fish > ~/.config/fish/completions/punctual.fish" },
    ]),
  )

/** The script names a flag that this program has as a command. */
export const completionScript = (
  shell: (typeof shells)[number],
  tree: Completions.CommandDescriptor,
): string =>
  Completions.generate(tree.name, shell, withHelp(tree)).replace(
    `${tree.name} --completions ${shell}`,
    `${tree.name} completion ${shell}`,
  )

/** Every command has help, which is no flag of its own; descriptions of several lines say most in the first. */
const withHelp = (command: Completions.CommandDescriptor): Completions.CommandDescriptor => ({
  ...command,
  description: firstLine(command.description),
  flags: [
    ...command.flags.map((flag) => ({ ...flag, description: firstLine(flag.description) })),
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
