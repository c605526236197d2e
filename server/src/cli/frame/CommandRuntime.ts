// What the commands for operators run on: Effect's command line, given what it asks of a platform, and the rules
// that all of them keep. Answers go to stdout and remarks to stderr; nothing that came from elsewhere reaches the
// terminal as a command to it; the exit code is 0 if all was done, 1 if something was not, 2 for wrong usage, and
// 130 if the command was interrupted.
import { Cause, Context, Effect, Exit, Fiber, FileSystem, Layer, Path, Schema, Stdio, Terminal } from "effect"
import { CliConfig, CliError, CliOutput, Command, Flag, GlobalFlag, type HelpDoc } from "effect/cli"
import { ChildProcessSpawner } from "effect/process"
import { build, versionLine } from "../../program/Build.ts"
import { layerLogs } from "../../program/Logs.ts"

/** The command did not do all it was asked: why, or how much of it. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  message: Schema.String,
  /** The code of the service's problem, if it refused. */
  code: Schema.optionalKey(Schema.String),
}) {}

/** Nobody reads the answer any more, as when it goes through `head`. */
export class OutputClosed extends Schema.TaggedError<OutputClosed>()("OutputClosed", {}) {}

export class Output extends Context.Service<
  Output,
  {
    /** Of the terminal that answers go to; nothing if they go to a file or a pipe. */
    readonly columns: number | undefined
    /** Lines of the answer. */
    answer(text: string): Effect.Effect<void, OutputClosed>
    /** What is to be said beside it. */
    remark(text: string): Effect.Effect<void, OutputClosed>
    /**
     * Commands are interrupted when they shall stop. One that takes this is not, from then on: it waits for what it
     * was given, and ends by itself, which is how it is meant to end.
     */
    readonly untilStopped: Effect.Effect<Effect.Effect<void>>
  }
>()("punctual/cli/Output") {}

/** How a command may fail. */
export type CommandFailure = CommandFailed | OutputClosed | CliError.CliError

/** What a command's handler is to the frame. */
export type CommandRun = Effect.Effect<void, CommandFailure, Output>

/** Where a command is run: the process, or a test. */
export interface Surroundings {
  readonly columns: number | undefined
  /** Resolves when the text has left; rejects if nobody reads it. */
  out(text: string): Promise<void>
  err(text: string): Promise<void>
  /** Calls back when the command shall stop; answers how to be called no more. */
  onStop(stop: () => void): () => void
}

/** Runs `punctual <args>`, where `root` knows every command there is, and answers the exit code. */
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
  await Effect.runPromise(Effect.ignore(output.remark(`punctual: Unforeseen: ${Cause.squash(exit.cause)}`)))
  return 1
}

/**
 * A flag that is there or not. It never takes the word after it: else `--json 1` would be the flag said with
 * emphasis, and not the flag and the argument 1.
 */
export const switchFlag = (name: string, description: string): Flag.Flag<boolean> =>
  Flag.Boolean(name).pipe(
    Flag.withOptionalValue("true"),
    Flag.withoutNegation,
    Flag.withDefault(false),
    Flag.withDescription(description),
  )

/** A usage error that a command finds itself, told like those that the command line finds. */
export const misuse = (commandPath: ReadonlyArray<string>, message: string): CliError.ShowHelp =>
  new CliError.ShowHelp({
    commandPath: ["punctual", ...commandPath],
    errors: [new CliError.ValidationError({ message })],
  })

/**
 * The text with everything escaped that is not to be seen but to be obeyed: control characters, those that turn
 * the direction of writing, broken surrogates. The escapes are JSON's, so that JSON remains what it was.
 */
export const printable = (text: string): string => escaped(text, /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu)

/** The same for text of several lines. */
export const printableLines = (text: string): string =>
  escaped(text, /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu)

const shortEscapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

const escaped = (text: string, pattern: RegExp): string =>
  text.replace(pattern, (character) => {
    const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
    return shortEscapes[character] ?? units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("")
  })

const outputTo = ({ columns, out, err }: Surroundings) => {
  const writing = (write: (text: string) => Promise<void>) => (text: string) =>
    Effect.tryPromise({
      try: () => write(`${printableLines(text)}\n`),
      catch: () => new OutputClosed(),
    })
  return { columns, answer: writing(out), remark: writing(err) }
}

/** The names that lead to the command that is called: a command's own flags come after them. */
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

/** Says why the command failed, unless that has been said, and answers the exit code. */
const told = (path: string, failure: CommandFailure, output: Output["Service"]): Effect.Effect<number> => {
  // The presenter has told of these.
  if (CliError.isCliError(failure)) return Effect.succeed(2)
  if (failure._tag === "OutputClosed") return Effect.succeed(1)
  return output.remark(`${path}: ${failure.message}`).pipe(Effect.ignore, Effect.as(1))
}

/** Help that was asked for is the answer; a wrong call is told of in a line, and where its help is. */
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
      const errors = event.errors.map(({ message }) => inOneLine(message))
      return Effect.ignore(output.remark(`${name}: ${errors.join(" ")} See ${name} --help.`))
    },
  }
}

/** A switch shows no type, though it could be said to be =true. */
const withPlainSwitches = (doc: HelpDoc.HelpDoc): HelpDoc.HelpDoc => ({
  ...doc,
  flags: doc.flags.map((flag) => (flag.type === "[=boolean]" ? { ...flag, type: "boolean" } : flag)),
})

/** A suggestion comes below the message, one name a line. */
const inOneLine = (message: string): string => {
  const [what = "", suggested] = message.split(/\s*Did you mean this\?\s*/)
  const question = suggested === undefined ? "" : ` Did you mean ${suggested.split(/\s+/).join(" or ")}?`
  return `${what.replace(/\s+/g, " ").replace(/\.?$/, ".")}${question}`
}

const unused = (what: string) => Effect.die(new Error(`No command uses ${what}.`))

/** What Effect's command line asks for beside its input: none of it is used by flags and arguments of ours. */
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

/** Resolves when the stream has the text no longer, so that an exit right after it cuts nothing off. */
const writeTo =
  (stream: NodeJS.WriteStream) =>
  (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      // A closed pipe is also told as an event, which would end the process with a stack.
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
