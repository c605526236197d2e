// `punctual migrate`: a store's schema brought up to what this program writes, ahead of the service, which would do it
// by itself when it starts: before a rolling upgrade, or with a user who may change a schema while the service's may
// not.
import { Clock, Effect, Option, type Scope } from "effect"
import { Command } from "effect/cli"
import type { StoreSchema } from "../../ports/StoreSchema.ts"
import { asCommandFailed } from "../frame/asCommandFailed.ts"
import { CommandFailed, Output, switchFlag } from "../frame/CommandRuntime.ts"
import { spanShown } from "../frame/figures.ts"
import { storeFlag } from "./exportArchive.ts"

export interface MigratedStore extends StoreSchema {
  /** As people know the store; without credentials. */
  readonly shown: string
}

/** Opens the store that the flag names, or the settings. */
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
      check: switchFlag("check", "Change nothing; the exit code is 1 if there is something to do"),
      json: switchFlag("json", "Answer one JSON object"),
    },
    ({ store, check, json }) =>
      Effect.gen(function* () {
        const schema = yield* asCommandFailed(open(Option.getOrUndefined(store)))
        const { stored: from, program } = yield* asCommandFailed(schema.versions)
        const startedMs = yield* Clock.currentTimeMillis
        const isNeeded = from < program
        if (isNeeded && !check) yield* asCommandFailed(schema.migrate)
        const { stored: to } =
          isNeeded && !check ? yield* asCommandFailed(schema.versions) : { stored: program }
        const tookMs = (yield* Clock.currentTimeMillis) - startedMs
        const migrated = { shown: schema.shown, from, to, isDone: isNeeded && !check, tookMs }
        const { answer } = yield* Output
        yield* answer(json ? migratedJson(migrated) : migratedText(migrated))
        if (check && isNeeded) {
          return yield* new CommandFailed({ message: "the schema is not up to date." })
        }
      }).pipe(Effect.scoped),
  ).pipe(
    Command.withDescription(
      [
        "Bring a store's schema up to date with this program, or make it where there is none.",
        "  The service does the same by itself when it starts. A store that is a file must not be in use meanwhile;",
        "  nodes that share a database may run on. It happens as a whole or not at all. A schema that is newer is refused.",
        "  The exit code is 0 if it is up to date now, 1 if it is not, 2 for wrong usage.",
      ].join("\n"),
    ),
    Command.withShortDescription("Bring a store's schema up to date"),
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
      ? `There is no store at ${shown} yet: punctual migrate would make it, with schema version ${to}.`
      : `${shown} has schema version ${from}: punctual migrate would apply ${steps}.`
  }
  return from === 0
    ? `Made a store at ${shown}, with schema version ${to}, in ${spanShown(tookMs)}.`
    : `${shown} had schema version ${from} and has ${to} now: applied ${steps} in ${spanShown(tookMs)}.`
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
