// The frame that all commands run in: Effect's command line, the platform services that it needs, and common rules.
// Answers go to stdout and remarks to stderr. Control characters are escaped, so that no outside text can send commands
// to the terminal. The exit code is 0 if everything was done, 1 if something was not, 2 for wrong usage, and 130 if the
// command was interrupted.
import { Cause, Context, Effect, Exit, Fiber, FileSystem, Layer, Path, Schema, Stdio, Terminal } from "effect"
import { CliConfig, CliError, CliOutput, Command, Flag, GlobalFlag, type HelpDoc } from "effect/cli"
import { ChildProcessSpawner } from "effect/process"
import { build, versionLine } from "../../program/Build.ts"
import { layerLogs } from "../../program/Logs.ts"

/** The command did not do everything. The message says why, or which part is missing. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  message: Schema.String,
}) {}

/** The reader closed the pipe, as `head` does. */
export class OutputClosed extends Schema.TaggedError<OutputClosed>()("OutputClosed", {}) {}

export class Output extends Context.Service<
  Output,
  {
    /** The width of the terminal; `undefined` if answers go to a file or a pipe. */
    readonly columns: number | undefined
    /** Writes text to stdout. */
    answer(text: string): Effect.Effect<void, OutputClosed>
    /**
     * Draws a view on the terminal in place of the last one, which had `replaced` lines. No line may be wider than the
     * terminal.
     */
    redraw(lines: ReadonlyArray<string>, replaced: number): Effect.Effect<void, OutputClosed>
    /** Writes text to stderr. */
    remark(text: string): Effect.Effect<void, OutputClosed>
    /**
     * By default a stop signal interrupts the command. A command that calls this is not interrupted any more: it waits
     * for the inner effect and then ends by itself with exit code 0.
     */
    readonly untilStopped: Effect.Effect<Effect.Effect<void>>
  }
>()("punctual/cli/Output") {}

export type CommandFailure = CommandFailed | OutputClosed | CliError.CliError

/** The type of a command's handler. */
export type CommandRun = Effect.Effect<void, CommandFailure, Output>

/** The environment of a command: the process, or a test. */
export interface Surroundings {
  readonly columns: number | undefined
  /** Resolves when the text is written; rejects if the reader closed the pipe. */
  out(text: string): Promise<void>
  err(text: string): Promise<void>
  /** Calls `stop` when the command should stop. Returns a function that removes the listener. */
  onStop(stop: () => void): () => void
}

/** Runs `punctual <args>` and returns the exit code. `root` has all commands. */
export const runTree = async <Input, Shared>(
  root: Command.Command<"punctual", Input, Shared, CommandFailure, Output>,
  args: ReadonlyArray<string>,
  surroundings: Surroundings = processSurroundings,
): Promise<number> => {
  const stopping = Promise.withResolvers<void>()
  let isTaken = false
  const untilStopped = Effect.sync(() => {
    isTaken = true
    return Effect.promise(() => stopping.promise)
  })
  const output = { ...outputTo(surroundings), untilStopped }
  const program = Command.runWith(root, { version: build.version })(args).pipe(
    Effect.as(0),
    Effect.catch((failure) => told(commandPath(root, args), failure, output)),
    Effect.provideService(Output, output),
    Effect.provideService(CliOutput.Presenter, presenterTo(output)),
    Effect.provideService(CliConfig.CliConfig, { builtIns: [GlobalFlag.Help, GlobalFlag.Version] }),
    Effect.provide(platform),
    // Effect's own logger writes to stdout, among the answers.
    Effect.provide(layerLogs("warn", process.stderr.isTTY === true)),
  )
  const fiber = Effect.runFork(program)
  const release = surroundings.onStop(() => {
    if (isTaken) stopping.resolve()
    else fiber.interruptUnsafe()
  })
  const exit = await Effect.runPromise(Fiber.await(fiber))
  release()
  if (Exit.isSuccess(exit)) return exit.value
  if (Cause.hasInterruptsOnly(exit.cause)) return 130
  await Effect.runPromise(
    Effect.ignore(output.remark(`punctual: Unexpected error: ${Cause.squash(exit.cause)}`)),
  )
  return 1
}

/**
 * A flag without a value. It never consumes the next word: otherwise `--json 1` would read 1 as the value of the flag,
 * and not as an argument.
 */
export const switchFlag = (name: string, description: string): Flag.Flag<boolean> =>
  Flag.Boolean(name).pipe(
    Flag.withOptionalValue("true"),
    Flag.withoutNegation,
    Flag.withDefault(false),
    Flag.withDescription(description),
  )

/** A usage error found by a command, shown in the same way as one found by the command line parser. */
export const misuse = (commandPath: ReadonlyArray<string>, message: string): CliError.ShowHelp =>
  new CliError.ShowHelp({
    commandPath: ["punctual", ...commandPath],
    errors: [new CliError.ValidationError({ message })],
  })

/**
 * Escapes all characters that act on a terminal instead of being displayed: control characters, characters that change
 * the direction of writing, and broken surrogates. The escapes are those of JSON, so JSON text keeps its meaning.
 */
export const printable = (text: string): string => escaped(text, /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu)

/** The same, but line breaks stay. */
export const printableLines = (text: string): string =>
  escaped(text, /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu)

const shortEscapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

const escaped = (text: string, pattern: RegExp): string =>
  text.replace(pattern, (character) => {
    const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
    return shortEscapes[character] ?? units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("")
  })

const outputTo = ({ columns, out, err }: Surroundings) => {
  const written = (write: (text: string) => Promise<void>, text: string) =>
    Effect.tryPromise({ try: () => write(text), catch: () => new OutputClosed() })
  const writing = (write: (text: string) => Promise<void>) => (text: string) =>
    written(write, `${printableLines(text)}\n`)
  const redraw = (lines: ReadonlyArray<string>, replaced: number) => {
    const up = replaced === 0 ? "" : `\u001b[${replaced}A`
    return written(out, `${up}${lines.map((line) => `\r${printable(line)}\u001b[K\n`).join("")}\u001b[J`)
  }
  return { columns, answer: writing(out), redraw, remark: writing(err) }
}

/** The names of the command and its parents. The flags of a command come after them. */
const commandPath = (root: Command.Command.Any, args: ReadonlyArray<string>): string => {
  const path = [root.name]
  let current: Command.Command.Any | undefined = root
  for (const name of args) {
    current = current.subcommands.flatMap(({ commands }) => commands).find((command) => command.name === name)
    if (current === undefined) break
    path.push(name)
  }
  return path.join(" ")
}

/** Writes why the command failed, unless that is already written, and returns the exit code. */
const told = (path: string, failure: CommandFailure, output: Output["Service"]): Effect.Effect<number> => {
  // The presenter has already shown these errors.
  if (CliError.isCliError(failure)) return Effect.succeed(2)
  if (failure._tag === "OutputClosed") return Effect.succeed(1)
  return output.remark(`${path}: ${failure.message}`).pipe(Effect.ignore, Effect.as(1))
}

/** Requested help goes to stdout. A usage error becomes one line that names the help. */
const presenterTo = (output: Output["Service"]): CliOutput.Presenter => {
  const formatter = CliOutput.defaultFormatter({ colors: false, globalFlags: "none" })
  return {
    present: (event) => {
      if (event._tag === "Version") return Effect.ignore(output.answer(versionLine(build).trimEnd()))
      const name = event.commandPath.join(" ")
      if (event._tag === "Help") {
        const say = event.reason === "Requested" ? output.answer : output.remark
        return Effect.ignore(say(formatter.formatHelpDoc(withPlainSwitches(event.helpDoc))))
      }
      const errors = event.errors.map((error) => inOneLine(error.message) + meantBy(error))
      return Effect.ignore(output.remark(`${name}: ${errors.join(" ")} See ${name} --help.`))
    },
  }
}

/** The help shows a switch without the optional `=true`. */
const withPlainSwitches = (doc: HelpDoc.HelpDoc): HelpDoc.HelpDoc => ({
  ...doc,
  flags: doc.flags.map((flag) => (flag.type === "[=boolean]" ? { ...flag, type: "boolean" } : flag)),
})

/** Effect writes suggestions below the message, one name on each line. This puts all on one line. */
const inOneLine = (message: string): string => {
  const [what = "", suggested] = message.split(/\s*Did you mean this\?\s*/)
  const question = suggested === undefined ? "" : ` Did you mean ${suggested.split(/\s+/).join(" or ")}?`
  return `${what.replace(/\s+/g, " ").replace(/\.?$/, ".")}${question}`
}

/** Commands that users expect by the names of other tools and of the API. They are too different for a suggestion. */
const otherNames: Readonly<Record<string, string>> = {
  "punctual timers delete": "cancel",
  "punctual timers remove": "cancel",
  "punctual timers show": "get",
  "punctual dead delete": "discard",
}

const meantBy = (error: CliError.CliError): string => {
  if (error._tag !== "UnknownSubcommand" || error.suggestions.length > 0) return ""
  const meant = otherNames[[...(error.parent ?? []), error.subcommand].join(" ")]
  return meant === undefined ? "" : ` Did you mean ${meant}?`
}

const unused = (what: string) => Effect.die(new Error(`No command uses ${what}.`))

/** Services that Effect's command line requires. Our flags and arguments do not use them. */
const platform = Layer.mergeAll(
  FileSystem.layerNoop({}),
  Path.layer,
  Stdio.layerTest({}),
  Layer.succeed(
    Terminal.Terminal,
    Terminal.make({
      columns: Effect.succeed(0),
      rows: Effect.succeed(0),
      size: unused("the terminal's size"),
      readInput: unused("the keyboard"),
      readLine: unused("the keyboard"),
      display: () => unused("the terminal"),
    }),
  ),
  Layer.succeed(
    ChildProcessSpawner.ChildProcessSpawner,
    ChildProcessSpawner.make(() => unused("other programs")),
  ),
)

/** Resolves when the stream has written the text, so that an exit right after it does not cut the text off. */
const writeTo =
  (stream: NodeJS.WriteStream) =>
  (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      // A closed pipe also emits an error event, which would end the process with a stack trace.
      stream.once("error", reject)
      stream.write(text, (error) => {
        if (error !== undefined && error !== null) return reject(error)
        stream.off("error", reject)
        resolve()
      })
    })

const processSurroundings: Surroundings = {
  columns: process.stdout.isTTY ? process.stdout.columns : undefined,
  out: writeTo(process.stdout),
  err: writeTo(process.stderr),
  onStop: (stop) => {
    process.on("SIGINT", stop)
    process.on("SIGTERM", stop)
    return () => {
      process.off("SIGINT", stop)
      process.off("SIGTERM", stop)
    }
  },
}
