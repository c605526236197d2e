// `punctual migrate`: updates the schema of a store to the version of this program. The service does the same when it
// starts. The command is for doing it earlier: before a rolling upgrade, or with a database user that may change the
// schema while the user of the service may not.
import { Clock, Effect, Option, type Scope } from "effect"
import { Command } from "effect/cli"
import type { StoreSchema } from "../../ports/StoreSchema.ts"
import { asCommandFailed } from "../frame/asCommandFailed.ts"
import { CommandFailed, Output, switchFlag } from "../frame/CommandRuntime.ts"
import { spanShown } from "../frame/figures.ts"
import { storeFlag } from "./exportArchive.ts"

export interface MigratedStore extends StoreSchema {
  /** The name of the store for people, without credentials. */
  readonly shown: string
}

/** Opens the store that the flag or the settings name. */
export type OpenSchema = (
  storeUrl: string | undefined,
) => Effect.Effect<MigratedStore, { readonly message: string }, Scope.Scope>

interface Migrated {
  readonly shown: string
  readonly from: number
  readonly to: number
  readonly isDone: boolean
  readonly tookMs: number
}

export const migrateCommand = (open: OpenSchema) =>
  Command.make(
    "migrate",
    {
      store: storeFlag,
      check: switchFlag("check", "Change nothing; the exit code is 1 if the schema is not up to date"),
      json: switchFlag("json", "Print one JSON object"),
    },
    ({ store, check, json }) =>
      Effect.gen(function* () {
        const schema = yield* asCommandFailed(open(Option.getOrUndefined(store)))
        const { stored: from, program } = yield* asCommandFailed(schema.versions)
        const startedMs = yield* Clock.currentTimeMillis
        const isNeeded = from < program
        const { answer, remark } = yield* Output
        const runFork = Effect.runForkWith(yield* Effect.context<never>())
        schema.onProgress?.((message) => runFork(Effect.ignore(remark(message))))
        if (isNeeded && !check) yield* asCommandFailed(schema.migrate)
        const { stored: to } =
          isNeeded && !check ? yield* asCommandFailed(schema.versions) : { stored: program }
        const tookMs = (yield* Clock.currentTimeMillis) - startedMs
        const migrated = { shown: schema.shown, from, to, isDone: isNeeded && !check, tookMs }
        yield* answer(json ? migratedJson(migrated) : migratedText(migrated))
        if (check && isNeeded) {
          return yield* new CommandFailed({ message: "the schema is not up to date." })
        }
      }).pipe(Effect.scoped),
  ).pipe(
    Command.withDescription(
      [
        "Update the schema of a store to the version of this program, or create the store if it does not exist.",
        "  The service does the same when it starts. No service may use a store that is a file meanwhile; nodes that share a",
        "  database may keep running. All changes are applied, or none. The command refuses a schema newer than the program.",
        "  The exit code is 0 if the schema is now up to date, 1 if it is not, 2 for wrong usage.",
      ].join("\n"),
    ),
    Command.withShortDescription("Update the schema of a store"),
    Command.withExamples([
      { command: "punctual migrate --check" },
      { command: "punctual migrate --store postgres://host/timers" },
    ]),
  )

const migratedText = ({ shown, from, to, isDone, tookMs }: Migrated): string => {
  if (from === to) return `${shown} has schema version ${to}: nothing to do.`
  const steps = to - from === 1 ? `migration ${to}` : `migrations ${from + 1} to ${to}`
  if (!isDone) {
    return from === 0
      ? `There is no store at ${shown} yet: punctual migrate would create it with schema version ${to}.`
      : `${shown} has schema version ${from}: punctual migrate would apply ${steps}.`
  }
  return from === 0
    ? `Created a store at ${shown} with schema version ${to} in ${spanShown(tookMs)}.`
    : `${shown} had schema version ${from} and now has ${to}: applied ${steps} in ${spanShown(tookMs)}.`
}

const migratedJson = ({ shown, from, to, isDone, tookMs }: Migrated): string => {
  const steps = Array.from({ length: to - from }, (_, index) => from + index + 1)
  return JSON.stringify(
    isDone || from === to
      ? { store: shown, from, to, applied: steps, tookMs }
      : { store: shown, from, to, wouldApply: steps },
    undefined,
    2,
  )
}
