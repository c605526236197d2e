// The text of a new key is shown once. It goes to stdout alone, so that a script can read it, or into a new file that only
// its owner can read.
import { type FileHandle, open, rm } from "node:fs/promises"
import { resolve } from "node:path"
import type { Key, NewKeyAnswer } from "@punctual/api/Keys"
import { Effect, Option } from "effect"
import { Flag } from "effect/cli"
import { type Answered, answerJson, answerValue } from "../client/ServiceClient.ts"
import { CommandFailed, Output, type OutputClosed, printable } from "../frame/CommandRuntime.ts"
import { keyLine } from "./KeyView.ts"

export const keyOutFlag = Flag.String("key-out").pipe(
  Flag.withMetavar("FILE"),
  Flag.withDescription("Write the key to this new file, which only you can read, instead of printing it"),
  Flag.optional,
)

export interface KeyOutput {
  readonly keyOut: Option.Option<string>
  readonly json: boolean
  /** What was done, such as `Made`. */
  readonly did: string
  /** What else there is to say about the key, as a whole sentence. */
  readonly also?: (key: Key) => string
}

/** Makes a key and puts its text out. The file is created first, so that no key is made that cannot be written. */
export const putOut = <R>(
  make: Effect.Effect<Answered<NewKeyAnswer>, CommandFailed, R>,
  { keyOut, json, did, also }: KeyOutput,
): Effect.Effect<void, CommandFailed | OutputClosed, R | Output> =>
  Effect.gen(function* () {
    const { answer, remark } = yield* Output
    const done = (key: Key) => `${did} ${keyLine(key)}.${also === undefined ? "" : ` ${also(key)}`}`
    if (Option.isSome(keyOut)) {
      const path = resolve(keyOut.value)
      const { value, text } = yield* madeInto(path, make)
      yield* remark(`${done(value.key)} The key is in ${path}.`)
      if (json) yield* answerValue({ key: JSON.parse(text).key, keyFile: path })
      return
    }
    const { value, text } = yield* make
    yield* remark(`${done(value.key)} This is the only time that the key is shown.`)
    yield* json ? answerJson(text) : answer(value.apiKey)
  })

const madeInto = <R>(
  path: string,
  make: Effect.Effect<Answered<NewKeyAnswer>, CommandFailed, R>,
): Effect.Effect<Answered<NewKeyAnswer>, CommandFailed, R> =>
  Effect.acquireUseRelease(
    Effect.tryPromise({ try: () => open(path, "wx", 0o600), catch: (error) => unwritable(path, error) }),
    (file) =>
      Effect.gen(function* () {
        const made = yield* Effect.tapError(make, () => Effect.promise(() => rm(path, { force: true })))
        yield* Effect.tryPromise({
          try: () => writeKey(file, made.value.apiKey),
          catch: (error) => unwritten(path, made.value.key.id, error),
        })
        return made
      }),
    (file) => Effect.promise(() => file.close()),
  )

const writeKey = async (file: FileHandle, text: string): Promise<void> => {
  await file.writeFile(`${text}\n`)
  await file.sync()
}

const unwritable = (path: string, error: unknown): CommandFailed =>
  new CommandFailed({
    message: printable(
      codeOf(error) === "EEXIST"
        ? `${path} exists already: name a new file. No key was made.`
        : `${path} cannot be created (${codeOf(error)}). No key was made.`,
    ),
  })

const unwritten = (path: string, id: string, error: unknown): CommandFailed =>
  new CommandFailed({
    message: printable(
      `the key ${id} was made, but ${path} cannot be written (${codeOf(error)}), so its text is lost: run punctual keys rotate ${id}, or revoke it.`,
    ),
  })

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : String(error)
